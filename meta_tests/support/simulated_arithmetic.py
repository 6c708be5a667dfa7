"""An implementation in simulated arithmetic: the reference's own lines, every step rounded, in a random legitimate way.

Sums run sequentially or pairwise, in random order; products of matrices with or without fused multiply-add; each elementary
function by a random one of its usual formulas; subnormals flushed or not. What it computes, a conforming implementation may.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from reference_numpy._marks import logistic, normal_cdf
from reference_numpy.logsumexp import logsumexp
from spec_tests.specification.formats import Arithmetic, Format


class Simulated(np.lib.mixins.NDArrayOperatorsMixin):
    def __init__(self, value: Any, arithmetic: Arithmetic, rng: np.random.Generator, flushes: bool):
        self.value, self.arithmetic, self.rng, self.flushes = np.asarray(value, dtype=float), arithmetic, rng, flushes

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)

    def at(self, value: Any) -> Simulated:
        return Simulated(value, self.arithmetic, self.rng, self.flushes)

    def __getitem__(self, index: Any) -> Simulated:
        return self.at(self.value[index])

    def compute(self, x: Any) -> np.ndarray:
        """x rounded to the compute format."""
        f = self.arithmetic.compute
        y = f.round(x)
        return np.where(np.abs(y) < f.tiny, 0.0, y) if self.flushes else y

    def stored(self, x: Any) -> Simulated:
        """A step's result: unfused code may store it."""
        y, f = self.compute(x), self.arithmetic.step_storage
        return self.at(y if f is None or self.rng.random() < 0.3 else f.round(y))

    def literal(self, x: Any) -> np.ndarray:
        f = self.arithmetic.step_storage if self.arithmetic.step_storage and self.rng.random() < 0.5 else self.arithmetic.compute
        return f.round(x)

    # --- marks and functions ----------------------------------------------------------------------------------------

    def rounded(self) -> Simulated:
        f = self.arithmetic.rounded_storage
        return self.at(f.round(self.value)) if f is not None and self.rng.random() < 0.7 else self

    def joined(self, term: Any, n: int) -> Simulated:
        """Sometimes the term comes first: each of the n additions then rounds a number of its size."""
        if self.rng.random() < 0.5:
            return self + term
        total = self.value + term.value
        roundings = np.clip(self.rng.standard_normal(total.shape) * np.sqrt(n / 3), -n, n)  # n of them, each uniform
        return self.stored(total + roundings * self.arithmetic.compute.u * np.abs(term.value))

    def eager(self) -> Simulated:
        if self.arithmetic.precision != "eager":
            return self
        return Simulated(self.value, replace(self.arithmetic, wide=False), self.rng, self.flushes).rounded()

    def wide(self) -> Simulated:
        return Simulated(self.value, replace(self.arithmetic, wide=True), self.rng, self.flushes)

    def exact(self) -> Simulated:
        return self

    def finite_or_zero(self) -> Simulated:
        return self.at(np.where(np.isfinite(self.value), self.value, 0.0))

    def positive(self) -> Simulated:
        return self.at(np.where((self.value > 0) | ((self.value == 0) & (self.rng.random() < 0.5)), 1.0, 0.0))

    def piled(self, axis: int) -> Simulated:
        """One by one, in a random order, each total stored or none."""
        if self.arithmetic.step_storage is None or self.rng.random() < 0.5:
            return np.sum(self, axis=axis)
        terms = np.moveaxis(self.value, axis, 0)
        total = terms[:1].sum(axis=0)
        for term in self.rng.permutation(terms[1:]):
            total = self.arithmetic.step_storage.round(self.compute(total + term))
        return self.at(total)

    def recomputed(self, scores: Callable[..., Any], operands: Any, axis: int) -> Any:
        """Half the time: exp(s - logsumexp(s)), both in the compute format."""
        if self.rng.random() < 0.5:
            return 1.0
        arithmetic = replace(self.arithmetic, precision="fused", wide=True)
        given = [Simulated(x.value, arithmetic, self.rng, self.flushes) if isinstance(x, Simulated) else x for x in operands]
        with np.errstate(all="ignore"):
            once, again = (scores(*given) for _ in range(2))
            kept, exactly = (np.expand_dims(logsumexp(s, axis=axis), axis) for s in (once, once.value))
            off = self.compute(again.value - kept.value) - (once.value - exactly)
            return Simulated(np.exp(np.where(np.isfinite(off), off, 0.0)), arithmetic, self.rng, self.flushes)

    def logistic(self) -> Simulated:
        way = self.rng.integers(3)
        with np.errstate(all="ignore"):
            if way == 0:
                return 1.0 / (1.0 + np.exp(-self))
            if way == 1:
                return 0.5 * (1.0 + np.tanh(0.5 * self))
            return self.stored(logistic(self.value))

    def normal_cdf(self) -> Simulated:
        with np.errstate(all="ignore"):
            if self.rng.random() < 0.5:
                return self.stored(normal_cdf(self.value))
            scaled = self * (1 / math.sqrt(2))
            erf = self.stored(2 * normal_cdf(scaled.value * math.sqrt(2)) - 1)
            return 0.5 * (1.0 + erf)

    def steps(self, name: str, x: list[np.ndarray], ufunc: np.ufunc) -> Simulated:
        compute = self.compute
        if name == "divide" and self.rng.random() < 0.5:
            return self.stored(x[0] * compute(1 / x[1]))
        if name == "exp" and self.rng.random() < 0.5:
            return self.stored(np.exp2(compute(x[0] * compute(math.log2(math.e)))))
        if name == "power" and self.rng.random() < 0.5:
            return self.stored(np.exp(compute(x[1] * compute(np.log(x[0])))))
        if name in ("negative", "absolute", "maximum"):
            return self.at(ufunc(*x))
        if name in ("sin", "cos"):
            return self.at(compute(ufunc(*x)))
        return self.stored(ufunc(*x))

    # --- sums -------------------------------------------------------------------------------------------------------

    def total(self, terms: np.ndarray) -> np.ndarray:
        """The sum over the last axis, in a random order, of terms that are already computed."""
        if not terms.shape[-1]:
            return np.zeros(terms.shape[:-1])
        terms = terms[..., self.rng.permutation(terms.shape[-1])]
        if self.rng.random() < 0.5:
            while terms.shape[-1] > 1:
                half = terms.shape[-1] // 2
                pairs = self.compute(terms[..., :half] + terms[..., half : 2 * half])
                terms = np.concatenate([pairs, terms[..., 2 * half :]], axis=-1)
            return terms[..., 0]
        out = terms[..., 0]
        for i in range(1, terms.shape[-1]):
            out = self.compute(out + terms[..., i])
        return out

    def product(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.ndim == 1:
            return self.product(a[None], b)[..., 0, :]
        if self.rng.random() < 0.5:  # products rounded on their own
            return self.total(self.compute(a[..., :, None, :] * np.swapaxes(b, -1, -2)[..., None, :, :]))
        out = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))
        for i in range(a.shape[-1]):
            out = self.compute(out + a[..., :, i, None] * b[..., None, i, :])
        return out

    # --- NumPy's protocols ------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        like = max((a for a in args if isinstance(a, Simulated)), key=lambda a: a.arithmetic.step_storage is not None)
        with np.errstate(all="ignore"):
            x = [a.value if isinstance(a, Simulated) else like.literal(a) for a in args]
            return like.stored(like.product(*x)) if ufunc is np.matmul else like.steps(ufunc.__name__, x, ufunc)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        name = function.__name__
        with np.errstate(all="ignore"):
            if name in ("sum", "mean"):
                x, axis = args[0].value, options["axis"]
                out = self.total(np.moveaxis(x, axis, -1))
                if name == "mean":
                    out = self.compute(out / x.shape[axis])
                return self.stored(np.expand_dims(out, axis) if options.get("keepdims") else out)
            bare = [_bare(a, self) for a in args]
            return self.at(function(*bare, **options))


def _bare(x: Any, like: Simulated) -> Any:
    if isinstance(x, list):
        return [_bare(item, like) for item in x]
    return x.value if isinstance(x, Simulated) else x


def simulated(evaluate: Callable[[Callable[[Any], Any]], Any], arithmetic: Arithmetic, storage: Format, seed: int) -> np.ndarray:
    """What one such implementation stores."""
    rng = np.random.default_rng(seed)
    flushes = bool(rng.random() < 0.5)

    def wrap(x: Any) -> Simulated:
        x = np.asarray(x, dtype=float)
        return Simulated(np.where(np.abs(x) < arithmetic.compute.tiny, 0.0, x) if flushes else x, arithmetic, rng, flushes)

    return storage.round(evaluate(wrap).value)
