"""The protocols of the number types on which the reference equations run.

The equations of reference_numpy are evaluated on NumPy arrays for the value, on `Bounded` for the worst-case error, on `Sample`
for the error under random roundings, on `LowPrecision` for arithmetic below the promised precision, and in the tests on arrays of
mpmath numbers. The marks of `reference_numpy._marks` leave plain arrays unchanged, so a number type may omit their methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np


class NumberType(Protocol):
    """The methods of every number type: NumPy's protocols, and the functions that NumPy lacks."""

    evaluations: int  # in float64 that one of an equation on these numbers is worth, as work

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

    def above_minus_infinity(self) -> np.ndarray:
        """Whether each element is more than -inf, or NaN."""

    def positive(self) -> Self:
        """Return 1 where x is positive, else 0."""

    def piled(self, axis: int) -> Self:
        """Return the sum along an axis, of terms that may be added one at a time."""

    def constant(self, x: np.ndarray) -> Self:
        """Return a plain array as numbers of this type, without an error."""


class ErrorCarryingNumber(NumberType, Protocol):
    """The further methods of a number type that stands for all results that correct implementations may compute.

    Each but `held` and `computed_in` is a mark of `reference_numpy._marks`, which says what an implementation may do there.
    """

    def largest(self, k: int) -> np.ndarray:
        """Return the indices of the k largest entries of each row, which roundings may decide."""

    def quotient(self, divisors: tuple[Any, ...], roundings: int) -> Self:
        """Return self divided by the product of given numbers, with so many roundings, or none by a power of two."""

    def product(self, factors: tuple[Any, ...], roundings: int) -> Self:
        """Return self times given numbers, with so many roundings, or none by a power of two."""

    def contracted(self, other: Self, factors: Any, sizes: Any, roundings: int) -> Self:
        """Return self @ other.T times given factors, a sum that may be taken apart, with so many roundings of these sizes."""

    def narrowed(self, unit: float, least: float) -> Self:
        """Allow the operand to be rounded, by at most unit times its size and by `least`."""

    def stored(self, store: Callable[[Any], Any]) -> Self:
        """Return store(self), a monotone function that rounds to a format of few bits."""

    def between(self, where: np.ndarray, low: float, high: float) -> Self:
        """Allow these elements to be any number from low to high."""

    def answered(self, name: str, least: float, roundings: int) -> Self:
        """Return the result of this name as it was returned, for other results to be judged at."""

    def rounded(self) -> Self:
        """Allow the tensor to be stored in the dtype of the inputs (precision class mixed)."""

    def returned(self) -> Self:
        """Allow the tensor to be stored in the dtype of the inputs in every precision class."""

    def held(self, f: Any) -> Self:
        """Round to the format f, in every precision class."""

    def computed_in(self, arithmetic: Any) -> Self:
        """Compute in another arithmetic from here on."""

    def eager(self) -> Self:
        """Allow the tensor to be stored in the dtype of the inputs, but only by unfused code (precision class eager)."""

    def wide(self) -> Self:
        """Compute in float32 or wider from here on, in every precision class."""

    def widened(self) -> Self:
        """Compute in float32 or wider from here on, if the result is returned in a wider dtype than the arguments'."""

    def in_bits(self) -> Self:
        """Allow a logarithm to be kept to the base 2."""

    def either(self, other: Self) -> Self:
        """Allow the larger error of self and of another form of the same number."""

    def interpolated(self, a: Any, b: Any) -> Self:
        """Allow a mean of a and b to be computed as a + w (b - a)."""

    def beside_one(self) -> Self:
        """Allow a tanh that 1 is added to, or that is subtracted from 1, to be computed by the exponential function."""

    def exact(self) -> Self:
        """Drop an error that cannot change the result."""

    def joined(self, term: Any, n: int) -> Self:
        """Return self + term, where the term may have been the first of the n + 1 terms of a sum."""

    def tallied(self, others: Sequence[Any], term: Any, counts: Any) -> Self:
        """Return the sum of self, the others, and the term as often as it is counted, which may be added once for each count."""

    def token_drawn(self, token: np.ndarray, reach: np.ndarray) -> Self:
        """Return the tokens that are drawn, where roundings below the reach of others may draw them instead."""

    def below(self, limit: float, first: Any, second: Any, slack: float) -> Self:
        """Return `first` below the limit, else `second`, or either within the slack and the error."""

    def chunked(self, other: Self) -> Self:
        """Return self @ other, a sum that may be added up chunk by chunk in the dtype of the inputs."""

    def copied(self, count: int, axis: int) -> Self:
        """Return each entry along an axis so many times. Code may make the copies in the dtype of the inputs."""

    def summed_copies(self, axis: int) -> Self:
        """Return the sum along an axis, of terms that may be stored, and added in any order, in the dtype of the inputs."""

    def through_maximum(self, left: Self, x: Self, axis: int) -> Self:
        """Allow for the error of code that differentiates x - max(x) as written."""

    def through_quotient(self) -> Self:
        """Allow for the roundings of code that differentiates e / sum(e) as written."""

    def recomputed(self, scores: Callable[..., Any], operands: Any, axis: int) -> Self:
        """Return the factor by which softmax weights change when they are recomputed from the logsumexp."""
