"""The number types that run through the reference equations, and the methods that the equations ask of them.

The plain equations of reference_numpy are evaluated on NumPy arrays for the value, on `Bounded` for the worst-case error, on
`Sample` for random roundings, on `LowPrecision` for an arithmetic that nobody promised, and on arrays of mpmath numbers in the
tests. A mark of `reference_numpy._marks` changes the value of no plain array, so that a number type may leave it out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self


class NumberType(Protocol):
    """What every number type has: NumPy's protocols, and the functions that NumPy lacks."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""

    @property
    def ndim(self) -> int:
        """The number of axes."""

    def __getitem__(self, index: Any) -> Any:
        """Return some of the elements."""

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        """Apply a NumPy ufunc."""

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        """Apply another NumPy function."""

    def logistic(self) -> Self:
        """Return 1 / (1 + e^-x)."""

    def normal_cdf(self) -> Self:
        """Return the standard normal distribution function of x."""

    def finite_or_zero(self) -> Self:
        """Return x where it is finite, else 0."""

    def positive(self) -> Self:
        """Return 1 where x is positive, else 0."""

    def piled(self, axis: int) -> Self:
        """Return the sum along an axis, of terms that arrive one by one."""


class ErrorCarryingNumber(NumberType, Protocol):
    """What a number type that stands for a set of possible results has besides: the marks that say what may be rounded where."""

    def rounded(self) -> Self:
        """Round as a tensor that may be stored in the dtype of the inputs (precision class mixed)."""

    def held(self, f: Any) -> Self:
        """Round to the format, in every class."""

    def eager(self) -> Self:
        """Round as a tensor that only unfused code stores in the dtype of the inputs (precision class eager)."""

    def wide(self) -> Self:
        """Compute in float32 or wider from here on, in every class."""

    def exact(self) -> Self:
        """Return x without the error that cannot matter."""

    def joined(self, term: Any, n: int) -> Self:
        """Return x + term, where the term may have been the first of n + 1 that were summed."""

    def through_maximum(self, left: Self, x: Self, axis: int) -> Self:
        """Add the error of differentiating x - max(x) as it stands."""

    def through_quotient(self) -> Self:
        """Add the roundings of differentiating e / sum(e) as it stands."""

    def recomputed(self, scores: Callable[..., Any], operands: Any, axis: int) -> Self:
        """Return the factor by which softmax weights change when they are recomputed from the logsumexp."""
