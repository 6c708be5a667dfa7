"""Sampled rounding error: the equation evaluated many times at once, each result moved by a random rounding.

For chains of matrix products the worst case multiplies norms and says nothing, because roundings do not conspire (Higham and
Mary 2019; Monte Carlo arithmetic, Parker 1997). `Sample` hides an axis of DRAWS + COARSE draws in front of every tensor, so that
the reference's own lines run once for all of them. A correct implementation is one more draw: its deviation is beyond
DEVIATIONS times the root mean square of DRAWS of them once in 2e9 (Student's t with 24 degrees of freedom).
How large a step's roundings are is read off the first draw: to first order the others' are as large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from reference_numpy._marks import logistic, normal_cdf

from ..specification.formats import Arithmetic, Format
from .error_model import EAGER_ERRORS, STEP_ERRORS, logsumexp_roundings
from .random_rounding import lost_to_underflow, root_of_squares, round_on_random_grid, spread_of_partial_sums

DRAWS, COARSE_DRAWS = 24, 16  # the coarse draws have roundings 2**GUARD times larger, and must deviate that much more
SIGMAS = 10
COARSE_FACTOR_LOG2 = 3
MAX_UNDERFLOWED_TERMS = 1000  # so many numbers below the normal range, or fewer, may have been left out of a sum
ROUNDING_FACTORS = np.array([1.0] * DRAWS + [2.0**COARSE_FACTOR_LOG2] * COARSE_DRAWS)


@cache
def _make_sign_table(length: int) -> np.ndarray:
    bits = np.unpackbits(np.frombuffer(np.random.default_rng(length).bytes(length // 8), dtype=np.uint8))
    signs = bits.astype(np.float64)  # hundreds of megabytes, perhaps: no second array
    signs *= -2.0
    signs += 1.0
    return signs


class RandomStream:
    """Random signs, cut from a fixed table at random places: deterministic, and cheaper than drawing them anew."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def signs(self, shape: tuple[int, ...]) -> np.ndarray:
        size = int(np.prod(shape))
        table = _make_sign_table(1 << max(20, (2 * size).bit_length()))
        start = int(self.rng.integers(0, len(table) - size + 1))
        return table[start : start + size].reshape(shape)


class Sample(np.lib.mixins.NDArrayOperatorsMixin):
    def __init__(self, value: np.ndarray, arithmetic: Arithmetic, stream: RandomStream):
        self.value, self.arithmetic, self.stream = value, arithmetic, stream

    @classmethod
    def input(cls, x: Any, arithmetic: Arithmetic, stream: RandomStream) -> Sample:
        value = np.asarray(x, dtype=np.float64)[None]
        subnormal = np.abs(value) < arithmetic.compute.tiny
        if np.any(subnormal & (value != 0)):  # may be read as zeros
            value = np.where(subnormal & (stream.signs((len(ROUNDING_FACTORS), *value.shape[1:])) > 0), 0.0, value)
        return cls(value, arithmetic, stream)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape[1:]

    @property
    def ndim(self) -> int:
        return self.value.ndim - 1

    def __getitem__(self, index: Any) -> Sample:
        return self.at(self.value[(slice(None), *(index if isinstance(index, tuple) else (index,)))])

    def at(self, value: np.ndarray) -> Sample:
        return Sample(value, self.arithmetic, self.stream)

    def factor(self, ndim: int) -> np.ndarray:
        return ROUNDING_FACTORS.reshape(-1, *[1] * ndim)

    def round_literal(self, x: Any) -> np.ndarray:
        x, f = np.asarray(x, dtype=np.float64), self.arithmetic.step_storage or self.arithmetic.compute
        held = f.round(x) == x
        if np.all(held):
            return x[None]
        return np.where(held, x, x * (1 + f.u * self.factor(x.ndim) * self.stream.signs((len(ROUNDING_FACTORS), *x.shape))))

    def perturb(self, value: np.ndarray, size: np.ndarray) -> np.ndarray:
        """value, up or down by `size`; to zero or twice itself below the normal range; infinite where it may overflow."""
        f, first = self.arithmetic.compute, np.abs(value[:1])
        if first.size and not np.isfinite(np.max(size)):
            size = np.where(np.isfinite(size), size, 0.0)
        if first.size and np.min(first) < f.tiny:
            size = size + np.minimum(first, f.tiny)
        step = size * self.stream.signs((len(ROUNDING_FACTORS), *value.shape[1:]))
        step[DRAWS:] *= 2.0**COARSE_FACTOR_LOG2
        step += value
        return _overflow_to_infinity(step, f)

    def finish_step(self, name: str, value: np.ndarray, *operands: np.ndarray) -> Sample:
        f, step_storage = self.arithmetic.compute, self.arithmetic.step_storage
        first, *given = (x[:1] for x in (value, *operands))
        size = STEP_ERRORS[name](np.abs(first), *given, f=f) * f.u
        if step_storage is not None and name in EAGER_ERRORS:
            size = size + EAGER_ERRORS[name](first, *given, step_storage)
        result = self.perturb(value, size)
        return self.at(result if step_storage is None else self.store(result, step_storage))

    def finish_sum(self, value: np.ndarray, spread: np.ndarray, lost: Any = 0.0) -> Sample:
        result = self.perturb(value, spread * self.arithmetic.compute.u + lost)
        return self.at(result if self.arithmetic.step_storage is None else self.store(result, self.arithmetic.step_storage))

    def store(self, x: np.ndarray, f: Format) -> np.ndarray:
        chance = self.stream.rng.random(len(ROUNDING_FACTORS)).reshape(-1, *[1] * (x.ndim - 1))
        return _overflow_to_infinity(round_on_random_grid(x, chance, self.factor(x.ndim - 1), f), f)

    # --- the marks of the reference, and the two functions that NumPy lacks --------------------------------------------

    def rounded(self) -> Sample:
        f = self.arithmetic.rounded_storage
        with np.errstate(all="ignore"):
            return self if f is None else self.at(self.store(self.value, f))

    def held(self, f: Format) -> Sample:
        return self.at(f.round(self.value))

    def joined(self, term: Any, n: int) -> Sample:
        total, size = _align_ranks([(self + term).value, np.abs(term.value) if isinstance(term, Sample) else np.abs(term)[None]])
        return self.at(self.perturb(total, np.sqrt(n) * self.arithmetic.compute.u * size[:1]))

    def eager(self) -> Sample:
        if self.arithmetic.precision != "eager":
            return self
        return Sample(self.value, replace(self.arithmetic, wide=False), self.stream).rounded()

    def wide(self) -> Sample:
        return Sample(self.value, replace(self.arithmetic, wide=True), self.stream)

    def exact(self) -> Sample:
        return self

    def finite_or_zero(self) -> Sample:
        return self.at(np.where(np.isfinite(self.value), self.value, 0.0))

    def positive(self) -> Sample:
        """At zero either."""
        coin = self.stream.signs((len(ROUNDING_FACTORS), *self.shape)) > 0
        return self.at(np.where((self.value > 0) | ((self.value == 0) & coin), 1.0, 0.0))

    def piled(self, axis: int) -> Sample:
        total, step_storage = np.sum(self, axis=axis), self.arithmetic.step_storage  # type: ignore[call-overload]
        if step_storage is None:
            return total
        size = np.sqrt(np.sum(np.square(self.value[:1]), axis=_shift_axis(axis)))
        spread = spread_of_partial_sums(self.shape[axis] - 1, total.value[:1], size)
        return self.at(self.store(self.perturb(total.value, spread * step_storage.u), step_storage))

    def through_maximum(self, left: Sample, x: Sample, axis: int) -> Sample:
        """Taken off, what is left would take the entry's own error with it. Added, it covers the code with it and without."""
        largest = x.value == np.max(x.value, axis=_shift_axis(axis), keepdims=True)
        value, largest, rest = _align_ranks([self.value, largest, left.value])
        return self.at(value + np.where(largest, rest, 0.0))

    def through_quotient(self) -> Sample:
        step_storage, size = self.arithmetic.step_storage, np.sqrt(2.0) * self.arithmetic.compute.u * np.abs(self.value[:1])
        result = self.perturb(self.value, size)
        return self.at(result if step_storage is None else self.store(self.store(result, step_storage), step_storage))

    def recomputed(self, scores: Callable[..., Any], operands: Any, axis: int) -> Sample:
        """Nothing is stored in 16 bits on the way: where the scores are, so are the weights, and then they are kept."""
        arithmetic = replace(self.arithmetic, precision="fused", wide=True)
        given = [Sample(x.value, arithmetic, self.stream) if isinstance(x, Sample) else x for x in operands]
        with np.errstate(all="ignore"):
            once, again = (scores(*given).value for _ in range(2))
            roundings = logsumexp_roundings(once[:1], _shift_axis(axis))
            kept = self.perturb(np.zeros_like(roundings), roundings * arithmetic.compute.u)
            off = again - once - kept
            return Sample(np.exp(np.where(np.isfinite(off), off, 0.0)), arithmetic, self.stream)

    def logistic(self) -> Sample:
        with np.errstate(all="ignore"):
            return self.finish_step("logistic", logistic(self.value), self.value)

    def normal_cdf(self) -> Sample:
        with np.errstate(all="ignore"):
            return self.finish_step("normal_cdf", normal_cdf(self.value), self.value)

    # --- NumPy's protocols ------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        name = ufunc.__name__
        like = max((a for a in args if isinstance(a, Sample)), key=lambda a: a.arithmetic.step_storage is not None)
        with np.errstate(all="ignore"):
            values = [a.value if isinstance(a, Sample) else like.round_literal(a) for a in args]
            if name == "matmul" and values[0].ndim == 2:  # a vector: the draws' axis must not pass for its rows
                return (like.at(values[0][:, None]) @ args[1])[..., 0, :]
            operands = _align_ranks(values)
            value: np.ndarray = ufunc(*operands)
            if name == "matmul":
                a, b = (x[:1] for x in operands)
                spread = spread_of_partial_sums(a.shape[-1], value[:1], root_of_squares(a, b, like.arithmetic.compute))
                return like.finish_sum(value, spread, lost_to_underflow(a, b, like.arithmetic.compute) / SIGMAS)
            if name in ("negative", "absolute", "maximum"):
                return like.at(value)
            if name in ("sin", "cos"):  # accurate to ulps of 1, and stored only where the equation says so
                return like.at(
                    like.perturb(value, STEP_ERRORS[name](value[:1], f=like.arithmetic.compute) * like.arithmetic.compute.u)
                )
            return like.finish_step(name, value, *operands) if name in STEP_ERRORS else NotImplemented

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        name = function.__name__
        with np.errstate(all="ignore"):
            if name == "mean":
                n = self.shape[options["axis"]]
                return np.sum(*args, **options) / self.at(np.full((1,), float(n)))
            if name in ("sum", "max"):
                options = {**options, "axis": _shift_axis(options["axis"])}
                total = function(args[0].value, **options)
                return self.at(total) if name == "max" else self._sum(args[0].value[:1], total, options)
            if name == "where":
                condition, *rest = args
                x, y = (a.value if isinstance(a, Sample) else self.round_literal(a) for a in rest)
                condition, x, y = _align_ranks([np.asarray(condition)[None], x, y])
                return self.at(np.where(condition, x, y))
            if name == "reshape":
                return self.at(np.reshape(args[0].value, (len(args[0].value), *args[1])))
            if name in ("concatenate", "stack"):
                return self.at(function(_broadcast_draws([x.value for x in args[0]]), axis=_shift_axis(options["axis"])))
            if name in ("swapaxes", "moveaxis", "repeat", "squeeze", "expand_dims"):
                places = [_shift_axis(a) if name in ("swapaxes", "moveaxis") else a for a in args[1:]]
                options = {k: _shift_axis(v) if k == "axis" else v for k, v in options.items()}
                return self.at(function(args[0].value, *places, **options))
        return NotImplemented

    def _sum(self, x: np.ndarray, total: np.ndarray, options: Any) -> Sample:
        """x: the first draw's terms."""
        n = x.shape[options["axis"]]
        spread = spread_of_partial_sums(n - 1, total[:1], np.sqrt(np.sum(np.square(x), **options)))
        together = (n - 1) * np.sum(np.abs(x), **options) / SIGMAS  # equal terms err in one direction
        return self.finish_sum(total, np.maximum(spread, together))


def _shift_axis(axis: int) -> int:
    return axis + 1 if axis >= 0 else axis


def _align_ranks(values: list[np.ndarray]) -> list[np.ndarray]:
    """Broadcasting must not see the axis of the draws: dimensions are added behind it."""
    ndim = max(v.ndim for v in values)
    return [v.reshape(v.shape[0], *[1] * (ndim - v.ndim), *v.shape[1:]) for v in values]


def _broadcast_draws(values: list[np.ndarray]) -> list[np.ndarray]:
    draws = max(len(v) for v in values)
    return [np.broadcast_to(v, (draws, *v.shape[1:])) for v in values]


def _overflow_to_infinity(value: np.ndarray, f: Format) -> np.ndarray:
    if value.size and not (np.max(value) < f.max / 2 and np.min(value) > -f.max / 2):
        return np.where(np.abs(value) > f.max / 2, np.copysign(np.inf, value), value)
    return value


def sampled_error(evaluate: Callable[[Callable[[Any], Any]], Any], value: np.ndarray, arithmetic: Arithmetic) -> np.ndarray:
    """The error that sampling allows around `value`; `evaluate(wrap)` runs the equation on wrapped inputs."""
    scale = float(SIGMAS)
    if arithmetic.compute.precision == 53:  # float64 cannot show its own roundings: draw larger ones, and scale back
        coarse = Format("float64 with fewer bits", 24, -1022, 1023)
        arithmetic, scale = replace(arithmetic, compute=coarse), SIGMAS * 2.0**-29
    stream = RandomStream()
    result = evaluate(lambda x: Sample.input(x, arithmetic, stream))
    with np.errstate(all="ignore"):
        deviation = np.broadcast_to(np.abs(result.value - value), (len(ROUNDING_FACTORS), *value.shape))
        largest = np.max(deviation, axis=0)
        unit = np.where(largest > 0, largest, 1.0)  # so that the squares do not underflow
        squares = np.square(deviation / unit)
        small = unit * np.sqrt(np.mean(squares[:DRAWS], axis=0))
        large = unit * np.sqrt(np.mean(squares[DRAWS:], axis=0)) / 2.0**COARSE_FACTOR_LOG2
        linear = (large <= 2 * small) & (small <= 2 * large)
    if np.mean(linear) < 0.95:  # too ill-conditioned for this arithmetic: nothing is claimed
        linear = np.zeros_like(linear)
    error = np.where(
        small < MAX_UNDERFLOWED_TERMS * arithmetic.compute.tiny, SIGMAS * small, scale * small
    )  # no rounding: unscaled
    return np.where(linear & np.isfinite(small), error, np.inf)
