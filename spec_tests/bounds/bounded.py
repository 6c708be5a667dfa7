"""A number that knows how wrong it may be: running error analysis through NumPy's own protocols.

`Bounded(value, error)` stands for every tensor that a correct implementation may have computed: all within `error` of
`value`, element by element, whatever the order of its sums and whether or not it fuses. The reference's plain lines, called
with Bounded arguments, so derive the bound of their own result (Wilkinson; Higham, Accuracy and Stability, section 3.3).
An infinite error means that nothing is claimed. An infinite value with an infinite error is one that overflows, or nearly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from reference_numpy._marks import logistic, normal_cdf

from ..specification.formats import Arithmetic, Format
from .error_model import EAGER_ERRORS, STEP_ERRORS, logsumexp_roundings, normal_density

RULES: dict[str, Callable[..., Bounded]] = {}  # of NumPy's functions, by name; rules.py fills it


def implements(f: Callable[..., Bounded]) -> Callable[..., Bounded]:
    """Register the rule of the NumPy function of this name."""
    RULES[f.__name__.strip("_")] = f
    return f


class Bounded(np.lib.mixins.NDArrayOperatorsMixin):
    def __init__(self, value: Any, error: Any, arithmetic: Arithmetic):
        self.value = np.asarray(value, dtype=np.float64)
        self.error = np.asarray(error, dtype=np.float64)
        if self.error.shape != self.value.shape:
            self.error = np.broadcast_to(self.error, self.value.shape)
        self.arithmetic = arithmetic

    @classmethod
    def input(cls, x: Any, arithmetic: Arithmetic) -> Bounded:
        """Exact, or with the error that it comes with; save that subnormals of the compute format may be read as zeros."""
        value, error = x.pair if isinstance(x, Bounded) else (x, 0.0)
        size = np.abs(np.asarray(value, dtype=np.float64))
        return cls(value, error + np.where(size < arithmetic.compute.tiny, size, 0.0), arithmetic)

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
        return Bounded(value, error, self.arithmetic)

    # --- how errors arise -------------------------------------------------------------------------------------------

    def round_literal(self, x: Any) -> Bounded:
        """A constant of the equation, rounded unless the format that it is kept in holds it."""
        x = np.asarray(x, dtype=np.float64)
        f = self.arithmetic.step_storage or self.arithmetic.compute
        with np.errstate(all="ignore"):
            error = np.where(f.round(x) == x, 0.0, np.where(np.abs(x) > f.max, np.inf, f.u * np.abs(x)))
        return self.at(x, error)

    def store(self, value: Any, error: Any, f: Format, roundings: float = 1.0, infinite: Any = False) -> Bounded:
        """value ± error after one more rounding to f, with overflow and the loss below the normal range."""
        reach = np.abs(value) + error
        total = error + np.minimum(reach, f.flush)
        if roundings:
            total += (roundings * f.u) * reach
        if reach.size and not reach.max() <= f.max:
            lost = ~(reach <= f.max)
            total = np.where(lost, np.inf, total)
            value = np.where(
                lost & (np.abs(value) + np.where(np.isinf(error), 0.0, error) > f.max), np.copysign(np.inf, value), value
            )
            total = np.where(infinite & np.isinf(value) & np.isfinite(error), 0.0, total)  # an infinity that came in
        return self.at(value, total)

    def finish_step(self, name: str, value: Any, inherited: Any, *operands: Any) -> Bounded:
        """The result of one elementary step on operands that carry the inherited error."""
        compute, step_storage = self.arithmetic.compute, self.arithmetic.step_storage
        own = STEP_ERRORS[name](np.abs(value) + inherited, *operands, f=compute) * compute.u
        infinite = np.isinf(value)
        if infinite.any():
            own = np.where(infinite, 0.0, own)
            infinite = infinite & np.logical_or.reduce([np.isinf(x) for x in np.broadcast_arrays(*operands)])
        result = self.store(value, inherited + own, compute, 0.0, infinite)
        if step_storage is None:
            return result
        if name in EAGER_ERRORS:
            result = self.at(result.value, result.error + EAGER_ERRORS[name](value, *operands, step_storage))
        return self.store(*result.pair, step_storage, 1.0, infinite)

    def finish_sum(self, value: Any, inherited: Any, own: Any, infinite: Any = False) -> Bounded:
        """A sum: accumulated in the compute format, then stored as any other result."""
        own = np.where(np.isinf(value), 0.0, own) if np.any(infinite) else own
        compute, step_storage = self.arithmetic.compute, self.arithmetic.step_storage
        result = self.store(value, inherited + own * compute.u, compute, 0.0, infinite)
        return result if step_storage is None else self.store(*result.pair, step_storage, 1.0, infinite)

    @property
    def pair(self) -> tuple[np.ndarray, np.ndarray]:
        return self.value, self.error

    # --- the marks of the reference, and the two functions that NumPy lacks --------------------------------------------

    def rounded(self) -> Bounded:
        f = self.arithmetic.rounded_storage
        return self if f is None else self.store(*self.pair, f, 1.0, np.isinf(self.value))

    def held(self, f: Format) -> Bounded:
        """Certainly rounded to f: between the roundings of the two ends."""
        low, value, high = (f.round(x) for x in (self.value - self.error, self.value, self.value + self.error))
        return self.at(value, np.where(low == high, 0.0, np.maximum(high - value, value - low)))

    def joined(self, term: Any, n: int) -> Bounded:
        total = self + term
        size = np.abs(term.value) + term.error if isinstance(term, Bounded) else np.abs(term)
        return self.at(total.value, total.error + n * self.arithmetic.compute.u * size)

    def eager(self) -> Bounded:
        if self.arithmetic.precision != "eager":
            return self
        narrow = Bounded(*self.pair, replace(self.arithmetic, wide=False))
        return narrow.rounded()

    def wide(self) -> Bounded:
        return Bounded(*self.pair, replace(self.arithmetic, wide=True))

    def exact(self) -> Bounded:
        return self.at(self.value, 0.0)

    def finite_or_zero(self) -> Bounded:
        finite = np.isfinite(self.value)
        return self.at(np.where(finite, self.value, 0.0), np.where(finite, self.error, 0.0))

    def positive(self) -> Bounded:
        """Either of the two where the sign is not sure."""
        return self.at(np.where(self.value > 0, 1.0, 0.0), np.where(np.abs(self.value) > self.error, 0.0, 1.0))

    def piled(self, axis: int) -> Bounded:
        total, step_storage = np.sum(self, axis=axis), self.arithmetic.step_storage  # type: ignore[call-overload]
        if step_storage is None:
            return total
        size = np.sum(np.abs(self.value) + self.error, axis=axis)
        return self.at(total.value, total.error + (self.shape[axis] - 1) * step_storage.u * size)

    def through_maximum(self, left: Bounded, x: Any, axis: int) -> Bounded:
        """Of any entry that may be the largest."""
        value, error = x.pair if isinstance(x, Bounded) else (x, 0.0)
        with np.errstate(all="ignore"):
            largest = value + error >= np.max(value - error, axis=axis, keepdims=True)
        return self.at(self.value, self.error + np.where(largest, np.abs(left.value) + left.error, 0.0))

    def through_quotient(self) -> Bounded:
        compute, step_storage, infinite = self.arithmetic.compute, self.arithmetic.step_storage, np.isinf(self.value)
        result = self.store(*self.pair, compute, 2.0, infinite)
        return result if step_storage is None else self.store(*result.pair, step_storage, 2.0, infinite)

    def recomputed(self, scores: Callable[..., Any], operands: Any, axis: int) -> Bounded:
        """For the rounding of the logsumexp alone: each score in a softmax's bound may be summed in an order of its own."""
        arithmetic = replace(self.arithmetic, wide=True)
        with np.errstate(all="ignore"):
            value, error = scores(*(x if x is None else Bounded.input(x, arithmetic) for x in operands)).pair
            roundings = logsumexp_roundings(value, axis) + np.max(error, axis=axis, keepdims=True)
            return Bounded(np.ones_like(roundings), np.expm1(roundings * arithmetic.compute.u), arithmetic)

    def logistic(self) -> Bounded:
        with np.errstate(all="ignore"):
            x, e = self.pair
            z = logistic(x)
            return self.finish_step("logistic", z, np.minimum(z * (1 - z) * np.expm1(e), 1.0), x)

    def normal_cdf(self) -> Bounded:
        with np.errstate(all="ignore"):
            x, e = self.pair
            inherited = np.minimum(e * normal_density(np.maximum(np.abs(x) - e, 0)), 1.0)
            return self.finish_step("normal_cdf", normal_cdf(x), np.where(np.isinf(x), 0.0, inherited), x)

    # --- NumPy's protocols ------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        rule = RULES.get(ufunc.__name__)
        if rule is None or method != "__call__" or options:
            return NotImplemented
        like = max((a for a in args if isinstance(a, Bounded)), key=lambda a: a.arithmetic.step_storage is not None)
        with np.errstate(all="ignore"):
            return rule(like, *(a if isinstance(a, Bounded) else like.round_literal(a) for a in args))

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        name = function.__name__
        with np.errstate(all="ignore"):
            if name in RULES:
                return RULES[name](self, *args, **options)
            if name in REARRANGING:
                return self.at(*(function(*_select(part, args), **_select(part, options)) for part in ("value", "error")))
        return NotImplemented


def _select(part: str, x: Any) -> Any:
    if isinstance(x, Bounded):
        return getattr(x, part)
    if isinstance(x, list | tuple):
        return type(x)(_select(part, item) for item in x)
    if isinstance(x, dict):
        return {key: _select(part, item) for key, item in x.items()}
    return x


REARRANGING = {
    "swapaxes", "moveaxis", "transpose", "reshape", "repeat", "squeeze", "expand_dims", "concatenate", "stack",
    "broadcast_to", "take", "take_along_axis", "flip", "roll",
}  # fmt: skip
