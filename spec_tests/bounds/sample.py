"""`Sample`, draws of an array under random roundings: Monte Carlo arithmetic (Parker 1997) through NumPy's protocols.

One evaluation of an equation serves all draws. In each draw every result is moved by a random rounding (see random_rounding.py);
in the coarse draws by one that is COARSE_FACTOR times larger. A step's error is that of the first draw: others hardly differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reference_numpy._marks import logistic, normal_cdf

from ..specification.float_errors import ignored_float_errors
from ..specification.formats import Arithmetic, Format
from .axis_of_draws import align_ranks, broadcast_axes, broadcast_draws, roll_draws, shift_axis
from .choices import RepeatsChoices
from .error_model import EAGER_ERRORS, STEP_ERRORS, beside_one_error, logsumexp_roundings
from .operands import leading_operand
from .prefix_sums import sum_up_to
from .random_rounding import (
    COARSE_FACTOR,
    DRAWS,
    FEW_DRAWS,
    RandomStream,
    lost_to_underflow,
    overflow_to_infinity,
    round_on_random_grid,
    spread_of_partial_sums,
    spread_of_product,
)
from .tallies import find_tally_error

SIGMAS = 10  # the allowed error in root mean squares of the draws


class Sample(RepeatsChoices, np.lib.mixins.NDArrayOperatorsMixin):
    """Draws of an array under random roundings.

    Axis 0 of `value` holds the draws and is hidden from the equation: `shape`, `ndim` and axis arguments do not count it. Its
    length is 1 as long as all draws are equal. All samples of an evaluation share one `stream` of random numbers.
    """

    def __init__(self, value: np.ndarray, arithmetic: Arithmetic, stream: RandomStream):
        self.value, self.arithmetic, self.stream, self.evaluations = value, arithmetic, stream, stream.draws

    @classmethod
    def input(cls, x: Any, arithmetic: Arithmetic, stream: RandomStream) -> Sample:
        """Make an argument of the equation. Where it is subnormal in the compute format, some draws read it as zero."""
        value = np.asarray(x, dtype=np.float64)[None]
        subnormal = np.abs(value) < arithmetic.compute.tiny
        if (subnormal & (value != 0)).any():
            value = np.where(subnormal & (stream.signs(value.shape[1:]) > 0), 0.0, value)
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
        """Return other draws, in the same arithmetic."""
        return Sample(value, self.arithmetic, self.stream)

    def round_literal(self, x: Any) -> np.ndarray:
        """Draw a constant of the equation, rounded unless the format that it is kept in holds it."""
        x, f = np.asarray(x, dtype=np.float64), self.arithmetic.step_storage or self.arithmetic.compute
        representable = f.round(x) == x
        if np.all(representable):
            return x[None]
        signs = self.stream.signs(x.shape)
        return np.where(representable, x, x * (1 + f.u * self.stream.factors(x.ndim) * signs))

    def or_in_float32(self) -> Sample:
        """Return the number, moved in each draw by as much as its rounding to float32 moves it."""
        change = np.abs(self.value.astype(np.float32) - self.value)
        if not np.any(change):
            return self
        return self.at(self.value + change * self.stream.factors(self.ndim) * self.stream.signs(self.shape))

    def perturb(self, value: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Move each draw up or down by `size` times its factor.

        A value below the normal range moves to zero or to twice itself. A value that may overflow becomes infinite.
        """
        f, first = self.arithmetic.compute, np.abs(value[:1])
        if first.size:
            if not np.isfinite(np.maximum.reduce(size, axis=None)):
                size = np.where(np.isfinite(size), size, 0.0)
            if not np.minimum.reduce(first, axis=None) >= f.tiny:  # also if some are NaN
                size = size + np.minimum(first, f.tiny)
        step = size * self.stream.signs_of(value[0])
        if len(step) > DRAWS:  # not only some of the first draws are made
            step[DRAWS:] *= COARSE_FACTOR
        step += value
        return overflow_to_infinity(step, f)

    def finish_step(self, name: str, value: np.ndarray, *operands: np.ndarray) -> Sample:
        """Return the result of one elementary step: move it by the step's own error, then store it."""
        f, step_storage = self.arithmetic.compute, self.arithmetic.step_storage
        first, first_operands = value[:1], [x[:1] for x in operands]
        size = STEP_ERRORS[name](np.abs(first), *first_operands, f=f) * f.u
        if step_storage is not None and name in EAGER_ERRORS:
            size = size + EAGER_ERRORS[name](first, *first_operands, step_storage)
        result = self.perturb(value, size)
        return self.at(result if step_storage is None else self.store(result, step_storage))

    def finish_sum(self, value: np.ndarray, spread: np.ndarray, lost: Any = 0.0) -> Sample:
        """Return a sum: move it by `spread` in units of u and by what is lost to underflow, then store it."""
        result = self.perturb(value, spread * self.arithmetic.compute.u + lost)
        return self.at(result if self.arithmetic.step_storage is None else self.store(result, self.arithmetic.step_storage))

    def store(self, x: np.ndarray, f: Format) -> np.ndarray:
        """Round each draw to f, on a grid of random scale."""
        chance, factors = self.stream.chances(x.ndim - 1), self.stream.factors(x.ndim - 1)
        return overflow_to_infinity(round_on_random_grid(x, chance, factors, f), f)

    # --- the marks of the equations, and the functions that NumPy lacks (see specification/number_types.py) -----------

    def rounded(self) -> Sample:
        f = self.arithmetic.rounded_storage
        with ignored_float_errors():
            return self if f is None else self.at(self.store(self.value, f))

    def returned(self) -> Sample:
        with ignored_float_errors():
            return self.at(self.store(self.value, self.arithmetic.storage))

    def computed_in(self, arithmetic: Arithmetic) -> Sample:
        """Return the numbers, with which the following steps compute in another arithmetic."""
        return Sample(self.value, arithmetic, self.stream)

    def held(self, f: Format) -> Sample:
        return self.at(f.round(self.value))

    def quotient(self, divisors: tuple[Any, ...], roundings: int) -> Sample:
        """Divide, with the root sum of squares of the roundings. Powers of two divide exactly."""
        divisor = math.prod(x.value if isinstance(x, Sample) else np.asarray(x) for x in divisors)
        quotient, (mantissa, _) = self.value / divisor, np.frexp(divisor)
        units = np.where(np.abs(mantissa) == 0.5, 0.0, np.sqrt(roundings) * self.arithmetic.compute.u)
        return self.at(self.perturb(quotient, units * np.abs(quotient[:1])))

    def product(self, factors: tuple[Any, ...], roundings: int) -> Sample:
        """Multiply, with the root sum of squares of the roundings. Powers of two multiply exactly."""
        factor = math.prod(x.value if isinstance(x, Sample) else np.asarray(x) for x in factors)
        product, (mantissa, _) = self.value * factor, np.frexp(factor)
        units = np.where(np.abs(mantissa) == 0.5, 0.0, np.sqrt(roundings) * self.arithmetic.compute.u)
        return self.at(self.perturb(product, units * np.abs(product[:1])))

    def contracted(self, other: Sample, factors: Any, sizes: Any, roundings: int) -> Sample:
        """Multiply, with the root sum of squares of the roundings, each of the whole size of the sum."""
        factor = math.prod(x.value if isinstance(x, Sample) else np.asarray(x) for x in factors)
        y = (self.value @ np.swapaxes(other.value, -1, -2)) * factor
        a, b = (np.abs(x.value[:1]) for x in sizes)
        units = np.sqrt(roundings) * self.arithmetic.compute.u
        return self.at(self.perturb(y, units * (a @ np.swapaxes(b, -1, -2)) * np.abs(factor)))

    def between(self, where: np.ndarray, low: float, high: float) -> Sample:
        return self

    def answered(self, name: str, least: float, roundings: int) -> Sample:
        return self

    def narrowed(self, unit: float, least: float) -> Sample:
        return self.at(self.perturb(self.value, unit * np.abs(self.value[:1]) + least))

    def stored(self, store: Callable[[Any], Any]) -> Sample:
        return self.at(store(self.value))

    def joined(self, term: Any, n: int) -> Sample:
        """Add the term. If it was the first of the sum, n additions each had a rounding of its size: √n u |term|."""
        total, size = align_ranks([(self + term).value, np.abs(term.value) if isinstance(term, Sample) else np.abs(term)[None]])
        return self.at(self.perturb(total, np.sqrt(n) * self.arithmetic.compute.u * size[:1]))

    def tallied(self, others: Sequence[Any], term: Any, counts: Any) -> Sample:
        """Return the sum, moved by the root mean square of its roundings, or as far as equal terms err that err alike."""
        terms = align_ranks([x.value if isinstance(x, Sample) else self.round_literal(x) for x in (self, *others, term)])
        sizes, n = [np.abs(x[:1]) for x in terms], len(others) + 1
        error = find_tally_error(sum(sizes[:-1]), sizes[-1], counts, n, self.arithmetic)
        total = sum(terms[:-1]) + counts * terms[-1]
        return self.finish_sum(self.perturb(total, error / np.clip(np.sqrt(n - 1 + counts), 1.0, SIGMAS)), np.zeros(1))

    def eager(self) -> Sample:
        if self.arithmetic.precision != "eager":
            return self
        return Sample(self.value, replace(self.arithmetic, wide=False), self.stream).rounded()

    def wide(self) -> Sample:
        return Sample(self.value, replace(self.arithmetic, wide=True), self.stream)

    def widened(self) -> Sample:
        return self.wide() if self.arithmetic.widens else self

    def in_bits(self) -> Sample:
        """Add the four roundings of two conversions, as a root sum of squares: 2 u."""
        return self.at(self.perturb(self.value, 2 * self.arithmetic.compute.u * np.abs(self.value[:1])))

    def either(self, other: Sample) -> Sample:
        """Take for each element the draws of the form of which the first few are spread more: the same form at each stage."""
        with ignored_float_errors():
            spreads = [np.std(x.value[:FEW_DRAWS], axis=0) for x in (self, other)]
        return self.at(np.where(spreads[1] > spreads[0], other.value, self.value))

    def interpolated(self, a: Sample, b: Sample) -> Sample:
        """Add three roundings as large as a and b together, as a root sum of squares, also if each step is stored."""
        units = self.arithmetic.compute.u + (self.arithmetic.step_storage.u if self.arithmetic.step_storage else 0.0)
        return self.at(self.perturb(self.value, np.sqrt(3.0) * units * (np.abs(a.value[:1]) + np.abs(b.value[:1]))))

    def beside_one(self) -> Sample:
        return self.at(self.perturb(self.value, beside_one_error(self.value[:1], self.arithmetic)))

    def exact(self) -> Sample:
        return self

    def finite_or_zero(self) -> Sample:
        return self.at(np.where(np.isfinite(self.value), self.value, 0.0))

    def above_minus_infinity(self) -> np.ndarray:
        return np.asarray(self.value[0] != -np.inf)

    def positive(self) -> Sample:
        """Return 1 where the value is positive, else 0; one of the two in each draw where the sign is uncertain."""
        return self.at(self.stream.either(self.value > 0, np.ones(1), np.zeros(1), tie=self.value == 0))

    def piled(self, axis: int) -> Sample:
        total: Sample = np.sum(self, axis=axis)  # type: ignore[call-overload]
        step_storage = self.arithmetic.step_storage
        return total if step_storage is None else self._store_totals(total, axis, step_storage)

    def _store_totals(self, total: Sample, axis: int, storage: Format) -> Sample:
        """Return the sum with the error of storing the total after each term but the first."""
        root = np.sqrt(np.sum(np.square(self.value[:1]), axis=shift_axis(axis)))
        spread = spread_of_partial_sums(self.shape[axis] - 1, total.value[:1], root)
        size = spread * storage.u + np.sqrt(self.shape[axis]) * storage.quantum / 2
        return self.at(self.store(self.perturb(total.value, size), storage))

    def copied(self, count: int, axis: int) -> Sample:
        copies: Sample = np.repeat(self, count, axis=axis)  # type: ignore[call-overload]
        return copies

    def summed_copies(self, axis: int) -> Sample:
        """Return the sum of the stored terms, each sum of which may be stored as well."""
        stored, storage = self.rounded(), self.arithmetic.rounded_storage
        total: Sample = np.sum(stored, axis=axis)  # type: ignore[call-overload]
        return total if storage is None else stored._store_totals(total, axis, storage)

    def chunked(self, other: Sample) -> Sample:
        """Return self @ other, with the error of storing each of the n terms, and the total after each."""
        total, f = self @ other, self.arithmetic.rounded_storage
        if f is None:
            return total
        a, b = (x.value[:1] for x in (self, other))
        spread = spread_of_partial_sums(self.shape[-1], total.value[:1], np.sqrt(np.square(a) @ np.square(b)))
        size = spread * f.u + np.sqrt(2 * self.shape[-1]) * f.quantum / 2  # the latter where they are subnormal
        return self.at(self.store(self.perturb(total.value, size), f))

    def below(self, limit: float, first: Any, second: Any, slack: float) -> Sample:
        low = limit - slack * (self.stream.signs(()) > 0)  # within the slack each draw takes one of the two
        return self.at(self.stream.either(self.value < low, first.value, second.value))

    def through_maximum(self, left: Sample, x: Sample, axis: int) -> Sample:
        """Add the remainder `left` to the largest entry in some draws and subtract it in others, as some code does.

        With one sign in all draws it would cancel the entry's own sampled error, or that of a later product.
        """
        largest = x.value == np.max(x.value, axis=shift_axis(axis), keepdims=True)
        value, largest, remainder, sign = align_ranks([self.value, largest, left.value, self.stream.signs(())])
        others: Any = 0.0
        if self.arithmetic.precision == "fused":
            difference = (value - value[:1]) * np.sqrt(0.5)  # of two draws: as large as the error of one
            others = sum_up_to(difference, align_ranks([x.value[:1], value])[0], shift_axis(axis))
        return self.at(value + np.where(largest, sign * remainder, others))

    def through_quotient(self) -> Sample:
        """Add two roundings (√2 u as a root sum of squares) and store twice, as code does that divides and then multiplies."""
        step_storage, size = self.arithmetic.step_storage, np.sqrt(2.0) * self.arithmetic.compute.u * np.abs(self.value[:1])
        result = self.perturb(self.value, size)
        return self.at(result if step_storage is None else self.store(self.store(result, step_storage), step_storage))

    def recomputed(self, scores: Callable[..., Any], operands: Any, axis: int) -> Sample:
        """Return exp of the error of s - logsumexp(s), for scores s that are computed a second time with other roundings.

        The scores are not stored in 16 bits here. Code that stores them so also stores the weights, and recomputes nothing.
        """
        arithmetic = replace(self.arithmetic, precision="fused", wide=True)
        operands = [Sample(x.value, arithmetic, self.stream) if isinstance(x, Sample) else x for x in operands]
        with ignored_float_errors():
            first, second = (scores(*operands).value for _ in range(2))
            roundings = logsumexp_roundings(first[:1], shift_axis(axis))
            logsumexp_error = self.perturb(np.zeros_like(roundings), roundings * arithmetic.compute.u)
            error = second - first - logsumexp_error
            return Sample(np.exp(np.where(np.isfinite(error), error, 0.0)), arithmetic, self.stream)

    def logistic(self) -> Sample:
        with ignored_float_errors():
            return self.finish_step("logistic", logistic(self.value), self.value)

    def normal_cdf(self) -> Sample:
        with ignored_float_errors():
            return self.finish_step("normal_cdf", normal_cdf(self.value), self.value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        name, like = ufunc.__name__, leading_operand(args, Sample)
        with ignored_float_errors():
            values = [a.value if isinstance(a, Sample) else like.round_literal(a) for a in args]
            if name == "matmul" and values[0].ndim == 2:  # a vector: matmul must not take the axis of the draws for its rows
                return (like.at(values[0][:, None]) @ args[1])[..., 0, :]
            operands = align_ranks(values)
            value: np.ndarray = ufunc(*operands)
            if name == "divide" and (overflowed := np.isinf(operands[1])).any():
                value = np.where(overflowed, np.nan, value)  # 0 would look like a result that has no error
            if name == "matmul":
                a, b = (x[:1] for x in operands)
                spread = spread_of_product(a, b, value[:1], like.arithmetic.compute, SIGMAS)
                return like.finish_sum(value, spread, lost_to_underflow(a, b, like.arithmetic.compute) / SIGMAS)
            if name in ("negative", "absolute", "maximum", "minimum"):
                return like.at(value)
            if name in ("sin", "cos"):  # the error is relative to 1; the result is stored only where the equation says so
                size = STEP_ERRORS[name](value[:1], f=like.arithmetic.compute) * like.arithmetic.compute.u
                return like.at(like.perturb(value, size))
            return like.finish_step(name, value, *operands) if name in STEP_ERRORS else NotImplemented

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        name = function.__name__
        with ignored_float_errors():
            if name == "mean":
                return np.sum(*args, **options) / self.at(np.full((1,), float(self.shape[options["axis"]])))
            if name in ("sum", "max"):
                options = {**options, "axis": shift_axis(options["axis"])}
                total = function(args[0].value, **options)
                return self.at(total) if name == "max" else self._sum(args[0].value[:1], total, options)
            if name == "where":
                condition, *rest = args
                x, y = (a.value if isinstance(a, Sample) else self.round_literal(a) for a in rest)
                condition, x, y = align_ranks([np.asarray(condition)[None], x, y])
                return self.at(np.where(condition, x, y))
            if name == "reshape":
                return self.at(np.reshape(args[0].value, (len(args[0].value), *args[1])))
            if name == "roll":
                return self.at(roll_draws(args[0].value, *args[1:], **options))
            if name == "broadcast_to":
                return self.at(broadcast_axes(args[0].value, args[1]))
            if name in ("concatenate", "stack"):
                values = [x.value if isinstance(x, Sample) else np.asarray(x)[None] for x in args[0]]
                return self.at(function(broadcast_draws(values), axis=shift_axis(options.get("axis", 0))))
            if name in ("swapaxes", "moveaxis", "repeat", "squeeze", "expand_dims", "flip"):
                positional = [shift_axis(a) if name in ("swapaxes", "moveaxis") else a for a in args[1:]]
                options = {k: shift_axis(v) if k == "axis" else v for k, v in options.items()}
                return self.at(function(args[0].value, *positional, **options))
        return NotImplemented

    def _sum(self, x: np.ndarray, total: np.ndarray, options: Any) -> Sample:
        """Return the sum `total` with its error. x: the terms of the first draw."""
        n = x.shape[options["axis"]]
        spread = spread_of_partial_sums(n - 1, total[:1], np.sqrt(np.sum(np.square(x), **options)))
        worst_case = (n - 1) * np.sum(np.abs(x), **options)  # equal terms may all err in one direction
        return self.finish_sum(total, np.maximum(spread, worst_case / SIGMAS))
