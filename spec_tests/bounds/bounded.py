"""`Bounded`, an array with an error bound: running error analysis through NumPy's protocols.

`Bounded(value, error)` stands for every tensor that a correct implementation may have computed: each element is within `error` of
`value`, whatever the order of sums and whether or not operations are fused. A reference equation called with Bounded arguments
returns its value and the error bound of that value (Wilkinson; Higham, Accuracy and Stability, section 3.3).
An infinite error means that nothing is claimed. An infinite value with an infinite error overflows, or comes near to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from reference_numpy._marks import REARRANGING, logistic, normal_cdf

from ..specification.float_errors import ignored_float_errors
from ..specification.formats import Arithmetic, Format
from .answers import JudgedAtAnswers
from .choices import MakesChoices
from .error_model import EAGER_ERRORS, STEP_ERRORS, beside_one_error, logsumexp_roundings, normal_density
from .expectation import Stage
from .operands import contract_sizes, error_of_given, join_given, leading_operand, select_part
from .prefix_sums import sum_up_to
from .recurs import Recurs
from .registered_rules import RULES
from .tallies import BoundsTallies


class Bounded(MakesChoices, JudgedAtAnswers, BoundsTallies, Recurs, np.lib.mixins.NDArrayOperatorsMixin):
    """Arrays within `error` of `value`, element by element, computed in `arithmetic`."""

    evaluations = 8  # in float64 that one of an equation is worth, as work
    of_backend = False  # whether the value comes from the backend's answers, which messages say

    def __init__(self, value: Any, error: Any, arithmetic: Arithmetic):
        self.value = np.asarray(value, dtype=np.float64)
        self.error = np.asarray(error, dtype=np.float64)
        if self.error.shape != self.value.shape:
            self.error = np.broadcast_to(self.error, self.value.shape)
        self.arithmetic = arithmetic

    @classmethod
    def input(cls, x: Any, arithmetic: Arithmetic) -> Bounded:
        """Make an argument of the equation. Its error is 0, or its own if x is Bounded.

        An element that is subnormal in the compute format may be read as zero, so its size is added to the error.
        """
        value, error = x.pair if isinstance(x, Bounded) else (x, 0.0)
        size = np.abs(np.asarray(value, dtype=np.float64))
        if size.size and np.minimum.reduce(size, axis=None) >= arithmetic.compute.tiny:
            return cls(value, error, arithmetic)
        return cls(value, error + np.where(size < arithmetic.compute.tiny, size, 0.0), arithmetic)

    def or_in_float32(self) -> Bounded:
        """Return the number with an error that admits its rounding to float32, in which frameworks may keep a parameter."""
        return Bounded(self.value, self.error + np.abs(self.value.astype(np.float32) - self.value), self.arithmetic)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    def __repr__(self) -> str:
        return f"Bounded({self.value!r}, ±{self.error!r})"

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: Any) -> Bounded:
        return self.at(self.value[index], self.error[index])

    def at(self, value: Any, error: Any) -> Bounded:
        """Return another value with its error, in the same arithmetic."""
        result = Bounded(value, error, self.arithmetic)
        result.of_backend = self.of_backend
        return result

    def with_values(self, values: Any) -> Bounded:
        """Return other values with the same errors."""
        return self.at(values, self.error)

    def at_stage(self, stage: Stage) -> Bounded:
        """Return the array with its error at a stage of its derivation. Here it is known as a whole."""
        return self

    # --- the errors of single operations ----------------------------------------------------------------------------

    def round_literal(self, x: Any) -> Bounded:
        """Make a constant of the equation, with the error of rounding it to the format in which it is kept."""
        x = np.asarray(x, dtype=np.float64)
        f = self.arithmetic.step_storage or self.arithmetic.compute
        with ignored_float_errors():
            error = np.where(f.round(x) == x, 0.0, np.where(np.abs(x) > f.max, np.inf, f.u * np.abs(x)))
        return self.at(x, error)

    def store(self, value: Any, error: Any, f: Format, roundings: float = 1.0, infinite: Any = False) -> Bounded:
        """Return value ± error after `roundings` roundings to f, with the errors of underflow and overflow.

        Nothing is claimed where the result may overflow. infinite: the elements whose infinity comes from an operand; they are
        exact if their error is finite.
        """
        largest_size = np.abs(value) + error
        total = np.minimum(largest_size, f.flush)
        total += error
        if roundings:
            total += (roundings * f.u) * largest_size
        if largest_size.size and not np.maximum.reduce(largest_size, axis=None) <= f.max:
            overflows = ~(largest_size <= f.max)
            total = np.where(overflows, np.inf, total)
            value = np.where(
                overflows & (np.abs(value) + np.where(np.isinf(error), 0.0, error) > f.max), np.copysign(np.inf, value), value
            )
            total = np.where(infinite & np.isinf(value) & np.isfinite(error), 0.0, total)
        return self.at(value, total)

    def finish_step(self, name: str, value: Any, inherited: Any, *operands: Any) -> Bounded:
        """Return the result of one elementary step: add the step's own error to the inherited one, then store the result."""
        compute, step_storage = self.arithmetic.compute, self.arithmetic.step_storage
        size, infinite = np.abs(value) + inherited, False
        own = STEP_ERRORS[name](size, *operands, f=compute) * compute.u
        if size.size and not np.maximum.reduce(size, axis=None) < np.inf and np.any(infinite := np.isinf(value)):
            own = np.where(infinite, 0.0, own)
            infinite = infinite & np.logical_or.reduce([np.isinf(x) for x in np.broadcast_arrays(*operands)])
        result = self.store(value, inherited + own, compute, 0.0, infinite)
        if step_storage is None:
            return result
        if name in EAGER_ERRORS:
            result = self.at(result.value, result.error + EAGER_ERRORS[name](value, *operands, step_storage))
        return self.store(*result.pair, step_storage, 1.0, infinite)

    def finish_sum(self, value: Any, inherited: Any, own: Any, infinite: Any = False) -> Bounded:
        """Return a sum that is accumulated in the compute format with its own error in units of u, then stored."""
        own = np.where(np.isinf(value), 0.0, own) if infinite is not False and np.any(infinite) else own
        compute, step_storage = self.arithmetic.compute, self.arithmetic.step_storage
        result = self.store(value, inherited + own * compute.u, compute, 0.0, infinite)
        return result if step_storage is None else self.store(*result.pair, step_storage, 1.0, infinite)

    @property
    def pair(self) -> tuple[np.ndarray, np.ndarray]:
        """The value and the error."""
        return self.value, self.error

    # --- the marks of the equations, and the functions that NumPy lacks (see specification/number_types.py) -----------

    def rounded(self) -> Bounded:
        f = self.arithmetic.rounded_storage
        return self if f is None else self.store(*self.pair, f, 1.0, np.isinf(self.value))

    def quotient(self, divisors: tuple[Any, ...], roundings: int) -> Bounded:
        """Divide. A given divisor is never flushed to zero, so that of its error only the part that is no flush counts."""
        divisor, _, enlarged = join_given(divisors, self.arithmetic.compute)
        quotient, inherited = self.value / divisor, self.error / np.abs(divisor)
        return self.at(quotient, error_of_given(quotient, inherited, divisor, enlarged, roundings, self.arithmetic.compute))

    def product(self, factors: tuple[Any, ...], roundings: int) -> Bounded:
        """Multiply. A given factor is never flushed to zero. Nothing is claimed where the product overflows."""
        factor, enlarged, _ = join_given(factors, self.arithmetic.compute)
        product, inherited = self.value * factor, self.error * np.abs(factor)
        error = error_of_given(product, inherited, factor, enlarged, roundings, self.arithmetic.compute)
        overflows = (np.abs(product) + error > self.arithmetic.compute.max) & np.isfinite(self.value)
        return self.at(product, np.where(overflows, np.inf, error))

    def contracted(self, other: Any, factors: Any, sizes: Any, roundings: int) -> Bounded:
        """Multiply, with the roundings of sums that are taken apart. What the operands inherit passes through."""
        compute, b = self.arithmetic.compute, other if isinstance(other, Bounded) else self.at(other, 0.0)
        factor, enlarged, _ = join_given(tuple(factors), compute)
        size, terms = contract_sizes(sizes, compute)
        inherited = np.abs(self.value) @ np.swapaxes(b.error, -1, -2) + self.error @ np.swapaxes(
            np.abs(b.value) + b.error, -1, -2
        )
        value = (self.value @ np.swapaxes(b.value, -1, -2)) * factor
        own = (roundings * compute.u + enlarged) * size + terms
        narrow = self.arithmetic.step_storage
        if narrow is not None:  # each operand, its scale and their product may be stored, and each global scale
            own = own + (6 + 2 * len(factors)) * narrow.u * size
        result = self.store(value, (inherited + own) * np.abs(factor), compute, 0.0, np.isinf(value))
        return result if narrow is None else self.store(*result.pair, narrow, 1.0, np.isinf(value))

    def narrowed(self, unit: float, least: float) -> Bounded:
        return self.at(self.value, self.error + unit * (np.abs(self.value) + self.error) + least * (self.value != 0))

    def stored(self, store: Callable[[Any], Any]) -> Bounded:
        """Return the middle and the radius of the interval between the roundings of the two ends."""
        low, high = store(self.value - self.error), store(self.value + self.error)
        return self.at((low + high) / 2, np.where(np.isfinite(self.error), (high - low) / 2, self.error))

    def returned(self) -> Bounded:
        return self.store(*self.pair, self.arithmetic.storage, 1.0, np.isinf(self.value))

    def computed_in(self, arithmetic: Arithmetic) -> Bounded:
        """Return the numbers, with which the following steps compute in another arithmetic."""
        return Bounded(self.value, self.error, arithmetic)

    def held(self, f: Format) -> Bounded:
        """Round to f. The result lies between the roundings of the two ends of the interval."""
        low, value, high = (f.round(x) for x in (self.value - self.error, self.value, self.value + self.error))
        return self.at(value, np.where(low == high, 0.0, np.maximum(high - value, value - low)))

    def joined(self, term: Any, n: int) -> Bounded:
        total, size = self + term, (np.abs(term.value) + term.error if isinstance(term, Bounded) else np.abs(term))
        return self.at(total.value, total.error + n * self.arithmetic.compute.u * size)

    def eager(self) -> Bounded:
        if self.arithmetic.precision != "eager":
            return self
        narrow = Bounded(*self.pair, replace(self.arithmetic, wide=False))
        return narrow.rounded()

    def wide(self) -> Bounded:
        return Bounded(*self.pair, replace(self.arithmetic, wide=True))

    def widened(self) -> Bounded:
        return self.wide() if self.arithmetic.widens else self

    def in_bits(self) -> Bounded:
        """Add two roundings for each of the two conversions: of the constant, and of the product."""
        return self.store(*self.pair, self.arithmetic.compute, 4.0, np.isinf(self.value))

    def either(self, other: Bounded) -> Bounded:
        """Allow the larger of both errors, that of the other form about its own value."""
        apart = np.where(self.value == other.value, 0.0, np.abs(self.value - other.value))
        return self.at(self.value, np.maximum(self.error, other.error + apart))

    def interpolated(self, a: Bounded, b: Bounded) -> Bounded:
        """Add the three roundings of a + w (b - a), each as large as a and b together, also if each step is stored."""
        size = sum(np.abs(x.value) + x.error for x in (a, b))
        units = self.arithmetic.compute.u + (self.arithmetic.step_storage.u if self.arithmetic.step_storage else 0.0)
        return self.at(self.value, np.where(np.isinf(self.value), self.error, self.error + 3 * units * size))

    def beside_one(self) -> Bounded:
        return self.at(self.value, self.error + beside_one_error(self.value, self.arithmetic))

    def exact(self) -> Bounded:
        return self.at(self.value, 0.0)

    def finite_or_zero(self) -> Bounded:
        finite = np.isfinite(self.value)
        return self.at(np.where(finite, self.value, 0.0), np.where(finite, self.error, 0.0))

    def above_minus_infinity(self) -> np.ndarray:
        return np.asarray(self.value != -np.inf)

    def positive(self) -> Bounded:
        """Return 1 where the value is positive, else 0, with an error of 1 where the sign is uncertain."""
        return self.at(np.where(self.value > 0, 1.0, 0.0), np.where(np.abs(self.value) > self.error, 0.0, 1.0))

    def piled(self, axis: int) -> Bounded:
        total: Bounded = np.sum(self, axis=axis)  # type: ignore[call-overload]
        step_storage = self.arithmetic.step_storage
        return total if step_storage is None else self._store_totals(total, axis, step_storage)

    def _store_totals(self, total: Bounded, axis: int, storage: Format) -> Bounded:
        """Return the sum with the error of storing the total after each term but the first."""
        size = np.sum(np.abs(self.value) + self.error, axis=axis)
        return self.at(total.value, total.error + (self.shape[axis] - 1) * (storage.u * size + storage.quantum / 2))

    def copied(self, count: int, axis: int) -> Bounded:
        copies: Bounded = np.repeat(self, count, axis=axis)  # type: ignore[call-overload]
        return copies

    def summed_copies(self, axis: int) -> Bounded:
        stored, storage = self.rounded(), self.arithmetic.rounded_storage
        total: Bounded = np.sum(stored, axis=axis)  # type: ignore[call-overload]
        if storage is None:
            return total
        total, size = stored._store_totals(total, axis, storage), np.sum(np.abs(stored.value) + stored.error, axis=axis)
        return self.at(
            total.value, np.where(size <= storage.max, total.error, np.inf)
        )  # where one order overflows, none is claimed

    def below(self, limit: float, first: Bounded, second: Bounded, slack: float) -> Bounded:
        """Return `first` if the value is below the limit, else `second`. Where either is right, the error reaches both."""
        margin, chosen = self.error + self.round_literal(limit).error, first if self.value < limit else second
        if self.value + margin < limit - slack or self.value - margin > limit:
            return chosen
        return chosen.at(chosen.value, np.abs(first.value - second.value) + np.maximum(first.error, second.error))

    def undecided(self, x: Any, closeness: Any) -> Bounded:
        """Return whole numbers, of which nothing is claimed where a rounding may turn around what they were decided by."""
        return self.at(np.asarray(x, dtype=np.float64), np.where(closeness <= self.arithmetic.compute.u, np.inf, 0.0))

    def chunked(self, other: Bounded) -> Bounded:
        """Return self @ other. Each of the n terms may be a chunk, and is then rounded with every total that it is added to."""
        total, f = self @ other, self.arithmetic.rounded_storage
        if f is None:
            return total
        n, (a, b) = self.shape[-1], (np.abs(x.value) + x.error for x in (self, other))
        return self.at(total.value, total.error + n * (f.u * (a @ b) + f.quantum))

    def through_maximum(self, left: Bounded, x: Any, axis: int) -> Bounded:
        """Add `left` to the error of each entry that may be the largest of x, and the errors of smaller entries to the others."""
        value, error = x.pair if isinstance(x, Bounded) else (x, 0.0)
        with ignored_float_errors():
            largest = value + error >= np.max(value - error, axis=axis, keepdims=True)
            others = 0.0 if self.arithmetic.precision != "fused" else sum_up_to(self.error, value, axis)
        return self.at(self.value, self.error + np.where(largest, np.abs(left.value) + left.error, others))

    def through_quotient(self) -> Bounded:
        compute, step_storage, infinite = self.arithmetic.compute, self.arithmetic.step_storage, np.isinf(self.value)
        result = self.store(*self.pair, compute, 2.0, infinite)
        return result if step_storage is None else self.store(*result.pair, step_storage, 2.0, infinite)

    def recomputed(self, scores: Callable[..., Any], operands: Any, axis: int) -> Bounded:
        """Bound only the rounding of the logsumexp. That scores are summed in another order is already in the softmax's bound."""
        arithmetic = replace(self.arithmetic, wide=True)
        with ignored_float_errors():
            value, error = scores(*(x if x is None else Bounded.input(x, arithmetic) for x in operands)).pair
            roundings = logsumexp_roundings(value, axis) + np.max(error, axis=axis, keepdims=True)
            return Bounded(np.ones_like(roundings), np.expm1(roundings * arithmetic.compute.u), arithmetic)

    def logistic(self) -> Bounded:
        with ignored_float_errors():
            x, e = self.pair
            z = logistic(x)
            return self.finish_step("logistic", z, np.minimum(z * (1 - z) * np.expm1(e), 1.0), x)

    def normal_cdf(self) -> Bounded:
        with ignored_float_errors():
            x, e = self.pair
            inherited = np.minimum(e * normal_density(np.maximum(np.abs(x) - e, 0)), 1.0)
            return self.finish_step("normal_cdf", normal_cdf(x), np.where(np.isinf(x), 0.0, inherited), x)

    # --- NumPy's protocols ------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        rule = RULES.get(ufunc.__name__)
        if rule is None or method != "__call__" or options:
            return NotImplemented
        like = leading_operand(args, Bounded)
        with ignored_float_errors():
            result = rule(like, *(a if isinstance(a, Bounded) else like.round_literal(a) for a in args))
        return _mark(result, args)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        name = function.__name__
        with ignored_float_errors():
            if name in RULES:
                return _mark(RULES[name](self, *args, **options), args)
            if name in REARRANGING:
                inputs = [select_part(part, (args, options), Bounded) for part in ("value", "error")]
                return _mark(self.at(*(function(*positional, **keywords) for positional, keywords in inputs)), args)
        return NotImplemented


def _mark(result: Any, args: Any) -> Any:
    """Mark a result as one of the backend's answers if one of the arguments is."""
    if isinstance(result, Bounded) and not result.of_backend and _is_of_backend(args):
        result.of_backend = True
    return result


def _is_of_backend(arguments: Iterable[Any]) -> bool:
    """Whether one of these arguments, or of the lists among them, is one of the backend's answers."""
    for x in arguments:
        if isinstance(x, Bounded):
            if x.of_backend:
                return True
        elif isinstance(x, list | tuple) and _is_of_backend(x):
            return True
    return False
