"""Implementations in simulated arithmetic: they run the reference's code and round every step in a random way that is allowed.

Sums are sequential or pairwise, in random order. Matrix products use fused multiply-add or not. Each elementary function uses one
of its usual formulas, and subnormals are flushed or not. A conforming implementation may compute any of these results.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from reference_numpy._marks import REARRANGING, logistic, normal_cdf
from reference_numpy.logsumexp import logsumexp
from spec_tests.specification.formats import Arithmetic, Format


class Simulated(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that rounds as such an implementation does, with the functions and marks that the reference uses.

    given: the argument whose entries these are, before any flush. A given scale is never flushed, as 2^-127 in float8_e8m0fnu.
    """

    given: np.ndarray | None = None

    def __init__(self, value: Any, arithmetic: Arithmetic, rng: np.random.Generator, flushes: bool):
        self.value, self.arithmetic, self.rng, self.flushes = np.asarray(value, dtype=float), arithmetic, rng, flushes

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)

    def with_value(self, value: Any) -> Simulated:
        return Simulated(value, self.arithmetic, self.rng, self.flushes)

    def __getitem__(self, index: Any) -> Simulated:
        return self.moved(lambda x: x[index], self)

    def moved(self, move: Callable[..., Any], *args: Any, **options: Any) -> Simulated:
        """Return what a function that only moves elements gives, of arguments as well."""
        result = self.with_value(move(*map(_unwrap, args), **options))
        if all(x.given is not None for x in args if isinstance(x, Simulated)):
            result.given = move(*(x.given if isinstance(x, Simulated) else _unwrap(x) for x in args), **options)
        return result

    def round_to_compute(self, x: Any) -> np.ndarray:
        """Round x to the compute format."""
        f = self.arithmetic.compute
        y = f.round(x)
        return np.where(np.abs(y) < f.tiny, 0.0, y) if self.flushes else y

    def store(self, x: Any) -> Simulated:
        """Return the result of a step, which unfused code may store in between."""
        y, f = self.round_to_compute(x), self.arithmetic.step_storage
        return self.with_value(y if f is None or self.rng.random() < 0.3 else f.round(y))

    def round_literal(self, x: Any) -> np.ndarray:
        f = self.arithmetic.step_storage if self.arithmetic.step_storage and self.rng.random() < 0.5 else self.arithmetic.compute
        return f.round(x)

    # --- marks and functions ----------------------------------------------------------------------------------------

    def rounded(self) -> Simulated:
        f = self.arithmetic.rounded_storage
        return self.with_value(f.round(self.value)) if f is not None and self.rng.random() < 0.7 else self

    def quotient(self, divisors: Any, roundings: int) -> Simulated:
        """Divide by each of the divisors, or multiply by their reciprocals, whose product may be computed first."""
        x, others = (
            self.round_to_compute(self.value),
            list(map(_as_given, divisors)),
        )
        reciprocals = [self.round_to_compute(1 / d) for d in others]
        kind = self.rng.integers(3)
        if kind == 2:
            return self.with_value(self.round_to_compute(x * self.round_to_compute(math.prod(reciprocals))))
        for divisor, reciprocal in zip(others, reciprocals, strict=True):
            x = self.round_to_compute(x / divisor if kind else x * reciprocal)
        return self.with_value(x)

    def product(self, factors: Any, roundings: int) -> Simulated:
        """Multiply by each of the factors, or by their product. A given factor is not flushed."""
        x, others = self.value, list(map(_as_given, factors))
        if self.rng.random() < 0.5:
            others = [self.round_to_compute(math.prod(others))] if len(others) > 1 else others
        for factor in others:
            x = self.round_to_compute(x * factor)
        return self.with_value(x)

    def contracted(self, other: Simulated, factors: Any, sizes: Any, roundings: int) -> Simulated:
        """Add the rounded products up, and multiply by each of the factors before or afterwards."""
        a, b, given = self.round_to_compute(self.value), self.round_to_compute(other.value), list(map(_as_given, factors))
        if self.rng.random() < 0.5 and given:
            a, given = self.round_to_compute(a * given[0]), given[1:]
        y = self.multiply(a, np.swapaxes(b, -1, -2))
        for factor in given:
            y = self.round_to_compute(y * factor)
        return self.with_value(y)

    def narrowed(self, unit: float, least: float) -> Simulated:
        """Half the time, round to as few bits as the unit has."""
        if unit == 0 or self.rng.random() < 0.5:
            return self
        with np.errstate(all="ignore"):
            step = np.maximum(np.exp2(np.frexp(self.value)[1]) * unit, 2 * least)
            return self.with_value(np.where(step > 0, np.rint(self.value / step) * step, self.value))

    def stored(self, store: Callable[[Any], Any]) -> Simulated:
        return self.with_value(store(self.value))

    def joined(self, term: Any, n: int) -> Simulated:
        """Add the term, sometimes as the first one of a sum: then each of the n additions rounds a number of its size."""
        if self.rng.random() < 0.5:
            return self + term
        total = self.value + term.value
        roundings = np.clip(self.rng.standard_normal(total.shape) * np.sqrt(n / 3), -n, n)  # like n uniform errors
        return self.store(total + roundings * self.arithmetic.compute.u * np.abs(term.value))

    def tallied(self, others: Any, term: Any, counts: Any) -> Simulated:
        """Multiply and add, or add the term once for each count, before the other terms or after them, and store each total."""
        numbers: list[Any] = [self, *others]
        numbers = [numbers[i] for i in self.rng.permutation(len(numbers))]
        plain = functools.reduce(operator.add, numbers)
        if self.rng.random() < 0.3:
            return plain + self.with_value(counts) * term
        is_first = self.rng.random() < 0.5
        total = self.with_value(np.broadcast_to(_unwrap(term), self.shape)) if is_first else plain
        for i in range(is_first, int(np.max(counts, initial=0))):
            total = self.with_value(np.where(counts > i, (total + term).value, total.value))
        if is_first:
            total = functools.reduce(operator.add, numbers, total)
        return self.with_value(np.where(counts > 0, total.value, plain.value))

    def eager(self) -> Simulated:
        if self.arithmetic.precision != "eager":
            return self
        return Simulated(self.value, replace(self.arithmetic, wide=False), self.rng, self.flushes).rounded()

    def returned(self) -> Simulated:
        return self.with_value(self.arithmetic.storage.round(self.value)) if self.rng.random() < 0.5 else self

    def held(self, f: Format) -> Simulated:
        return self.with_value(f.round(self.value))

    def wide(self) -> Simulated:
        return Simulated(self.value, replace(self.arithmetic, wide=True), self.rng, self.flushes)

    def widened(self) -> Simulated:
        return self.wide() if self.arithmetic.widens else self

    def in_bits(self) -> Simulated:
        """Half the time, convert a logarithm to the base 2 and back, by constants in the compute format."""
        if self.rng.random() < 0.5:
            return self
        bits = self.round_to_compute(self.value * self.round_to_compute(math.log2(math.e)))
        return self.with_value(self.round_to_compute(bits * self.round_to_compute(math.log(2))))

    def either(self, other: Simulated) -> Simulated:
        """Half the time, take the other form."""
        return self if self.rng.random() < 0.5 else other

    def interpolated(self, a: Simulated, b: Simulated) -> Simulated:
        """Half the time, add to a what is missing, computed from the rounded distance b - a, and round after each step."""
        if self.rng.random() < 0.5:
            return self
        with np.errstate(all="ignore"):
            distance = b.value - a.value
            stored = self.store(distance).value
            ratio = np.where(stored == 0, 1.0, stored / np.where(distance == 0, 1.0, distance))
            total = self.store(a.value + self.store((self.value - a.value) * ratio).value).value
        return self.with_value(np.where(np.isfinite(self.value), total, self.value))

    def beside_one(self) -> Simulated:
        """Half the time, compute the tanh again, as 1 - 2 / (e^2x + 1), and round after each step."""
        if self.rng.random() < 0.5:
            return self
        with np.errstate(all="ignore"):
            power = self.store(np.exp(2 * np.arctanh(np.clip(self.value, -1, 1)))).value
            quotient = self.store(2 / self.store(power + 1).value).value
        return self.store(1 - quotient)

    def exact(self) -> Simulated:
        return self

    def finite_or_zero(self) -> Simulated:
        return self.with_value(np.where(np.isfinite(self.value), self.value, 0.0))

    def above_minus_infinity(self) -> np.ndarray:
        return np.asarray(self.value != -np.inf)

    def positive(self) -> Simulated:
        return self.with_value(np.where((self.value > 0) | ((self.value == 0) & (self.rng.random() < 0.5)), 1.0, 0.0))

    def constant(self, x: np.ndarray) -> Simulated:
        return self.with_value(x)

    def piled(self, axis: int) -> Simulated:
        """Add the terms one by one in random order and store each total, or store none of them."""
        if self.arithmetic.step_storage is None or self.rng.random() < 0.5:
            return np.sum(self, axis=axis)
        terms = np.moveaxis(self.value, axis, 0)
        total = terms[:1].sum(axis=0)
        for term in self.rng.permutation(terms[1:]):
            total = self.arithmetic.step_storage.round(self.round_to_compute(total + term))
        return self.with_value(total)

    def below(self, limit: float, first: Simulated, second: Simulated, slack: float) -> Simulated:
        """Choose as either of the two comparisons does."""
        low = self.round_to_compute(limit - (slack if self.rng.random() < 0.5 else 0.0))
        return first if self.value < low else second

    def chunked(self, other: Simulated) -> Simulated:
        """Add the products chunk by chunk, in chunks of a random size, and store each total; or all at once."""
        f, n = self.arithmetic.rounded_storage, self.shape[-1]
        if f is None or n == 0 or self.rng.random() < 0.5:
            return self @ other
        size = int(self.rng.integers(1, n + 1))
        parts = [(self[..., i : i + size] @ other[i : i + size]).value for i in range(0, n, size)]
        total = f.round(parts[0])
        for part in parts[1:]:
            total = f.round(self.round_to_compute(total + f.round(part)))
        return self.with_value(total)

    def recomputed(self, scores: Callable[..., Any], operands: Any, axis: int) -> Any:
        """Half the time, recompute weights as exp(s - logsumexp(s)), with both terms in the compute format."""
        if self.rng.random() < 0.5:
            return 1.0
        arithmetic = replace(self.arithmetic, precision="fused", wide=True)
        arrays = [Simulated(x.value, arithmetic, self.rng, self.flushes) if isinstance(x, Simulated) else x for x in operands]
        with np.errstate(all="ignore"):
            first, second = (scores(*arrays) for _ in range(2))
            stored, exact = (np.expand_dims(logsumexp(s, axis=axis), axis) for s in (first, first.value))
            error = self.round_to_compute(second.value - stored.value) - (first.value - exact)
            return Simulated(np.exp(np.where(np.isfinite(error), error, 0.0)), arithmetic, self.rng, self.flushes)

    def logistic(self) -> Simulated:
        formula = self.rng.integers(3)
        with np.errstate(all="ignore"):
            if formula == 0:
                return 1.0 / (1.0 + np.exp(-self))
            if formula == 1:
                return 0.5 * (1.0 + np.tanh(0.5 * self))
            return self.store(logistic(self.value))

    def normal_cdf(self) -> Simulated:
        with np.errstate(all="ignore"):
            if self.rng.random() < 0.5:
                return self.store(normal_cdf(self.value))
            scaled = self * (1 / math.sqrt(2))
            erf = self.store(2 * normal_cdf(scaled.value * math.sqrt(2)) - 1)
            return 0.5 * (1.0 + erf)

    def apply(self, name: str, x: list[np.ndarray], ufunc: np.ufunc) -> Simulated:
        """Apply a ufunc by a random one of its usual formulas."""
        round_to_compute = self.round_to_compute
        if name == "divide" and self.rng.random() < 0.5:
            return self.store(x[0] * round_to_compute(1 / x[1]))
        if name == "exp" and self.rng.random() < 0.5:
            return self.store(np.exp2(round_to_compute(x[0] * round_to_compute(math.log2(math.e)))))
        if name == "power" and self.rng.random() < 0.5:
            return self.store(np.exp(round_to_compute(x[1] * round_to_compute(np.log(x[0])))))
        if name in ("negative", "absolute", "maximum"):
            return self.with_value(ufunc(*x))
        if name in ("sin", "cos"):
            return self.with_value(round_to_compute(ufunc(*x)))
        return self.store(ufunc(*x))

    # --- sums -------------------------------------------------------------------------------------------------------

    def add_up(self, terms: np.ndarray) -> np.ndarray:
        """Add rounded terms over the last axis, in random order, pairwise or sequentially."""
        if not terms.shape[-1]:
            return np.zeros(terms.shape[:-1])
        terms = terms[..., self.rng.permutation(terms.shape[-1])]
        if self.rng.random() < 0.5:
            while terms.shape[-1] > 1:
                half = terms.shape[-1] // 2
                pairs = self.round_to_compute(terms[..., :half] + terms[..., half : 2 * half])
                terms = np.concatenate([pairs, terms[..., 2 * half :]], axis=-1)
            return terms[..., 0]
        out = terms[..., 0]
        for i in range(1, terms.shape[-1]):
            out = self.round_to_compute(out + terms[..., i])
        return out

    def multiply(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Multiply matrices, with or without fused multiply-add."""
        if a.ndim == 1:
            return self.multiply(a[None], b)[..., 0, :]
        if self.rng.random() < 0.5:  # products are rounded before they are added
            return self.add_up(self.round_to_compute(a[..., :, None, :] * np.swapaxes(b, -1, -2)[..., None, :, :]))
        out = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))
        for i in range(a.shape[-1]):
            out = self.round_to_compute(out + a[..., :, i, None] * b[..., None, i, :])
        return out

    # --- NumPy's protocols ------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        operand = max((a for a in args if isinstance(a, Simulated)), key=lambda a: a.arithmetic.step_storage is not None)
        with np.errstate(all="ignore"):
            x = [a.value if isinstance(a, Simulated) else operand.round_literal(a) for a in args]
            return operand.store(operand.multiply(*x)) if ufunc is np.matmul else operand.apply(ufunc.__name__, x, ufunc)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        name = function.__name__
        with np.errstate(all="ignore"):
            if name in ("sum", "mean"):
                x, axis = args[0].value, options["axis"]
                out = self.add_up(np.moveaxis(x, axis, -1))
                if name == "mean":
                    out = self.round_to_compute(out / x.shape[axis])
                return self.store(np.expand_dims(out, axis) if options.get("keepdims") else out)
            if name in REARRANGING:
                return self.moved(function, *args, **options)
            return self.with_value(function(*map(_unwrap, args), **options))


def _as_given(x: Any) -> np.ndarray:
    """Return a factor or a divisor as the caller gave it, where it is an argument."""
    if isinstance(x, Simulated):
        return x.value if x.given is None else x.given
    return np.asarray(x, dtype=float)


def _unwrap(x: Any) -> Any:
    if isinstance(x, list):
        return [_unwrap(item) for item in x]
    return x.value if isinstance(x, Simulated) else x


def simulate(evaluate: Callable[[Callable[[Any], Any]], Any], arithmetic: Arithmetic, storage: Format, seed: int) -> np.ndarray:
    """Return the result of the random implementation that belongs to the seed."""
    rng = np.random.default_rng(seed)
    flushes = bool(rng.random() < 0.5)

    def wrap(x: Any) -> Simulated:
        x = np.asarray(x, dtype=float)
        read = Simulated(np.where(np.abs(x) < arithmetic.compute.tiny, 0.0, x) if flushes else x, arithmetic, rng, flushes)
        read.given = x
        return read

    return storage.round(evaluate(wrap).value)
