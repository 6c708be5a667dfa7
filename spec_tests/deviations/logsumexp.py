"""What goes wrong with logsumexp."""

from typing import Any

import numpy as np

from reference_numpy._marks import exact, finite_or_zero
from reference_numpy.logsumexp import logsumexp

from . import HALF, deviation
from ._steps import accumulate, exact_maximum


def finite_maximum(x: Any, axis: int) -> Any:
    return exact(finite_or_zero(np.max(x, axis=axis, keepdims=True)))


@deviation("reference", "no_overflow")
def no_maximum_subtracted(x: Any, *, axis: int) -> Any:
    """the maximum is not subtracted: log(sum(exp(x))).

    Shows: large entries (+∞), rows far below zero (−∞). Hides: ordinary rows.
    """
    return np.log(np.sum(np.exp(x), axis=axis))


@deviation("reference", "shift")
def maximum_not_given_back(x: Any, *, axis: int) -> Any:
    """the maximum is not added back: log(sum(exp(x − max(x)))).

    Shows: every row whose maximum is not 0. Hides: rows whose maximum is 0.
    """
    return np.squeeze(np.log(np.sum(np.exp(x - finite_maximum(x, axis)), axis=axis, keepdims=True)), axis=axis)


@deviation("reference", "shift")
def maximum_at_least_zero(x: Any, *, axis: int) -> Any:
    """the running maximum starts at 0, so that a row far below it underflows.

    Shows: rows whose entries are all far below zero. Hides: any row with an entry above zero.
    """
    m = np.maximum(finite_maximum(x, axis), 0.0)
    return np.squeeze(m + np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)), axis=axis)


@deviation("reference", "equal_entries")
def mean_of_exponentials(x: Any, *, axis: int) -> Any:
    """the exponentials are averaged, not summed: log(mean(exp(x))).

    Shows: every row of two or more. Hides: rows of one entry.
    """
    return logsumexp(x, axis=axis) - np.log(float(x.shape[axis]))


@deviation("reference", "smooth_maximum")
def one_more_term(x: Any, *, axis: int) -> Any:
    """the sum has one more term, exp(max(x)): log1p in place of log.

    Shows: every row. Hides: nothing.
    """
    m = finite_maximum(x, axis)
    return np.squeeze(m + np.log(1 + np.sum(np.exp(x - m), axis=axis, keepdims=True)), axis=axis)


@deviation("reference", "merge")
def maximum_alone(x: Any, *, axis: int) -> Any:
    """the result is the maximum of the row.

    Shows: two entries near the maximum. Hides: rows with a single peak.
    """
    return np.max(x, axis=axis)


@deviation("reference", "normalizes")
def base_two(x: Any, *, axis: int) -> Any:
    """the logarithm of the sum is to base 2.

    Shows: two entries near the maximum. Hides: rows with a single peak.
    """
    m = finite_maximum(x, axis)
    return np.squeeze(m + np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)) / np.log(2.0), axis=axis)


@deviation("reference", "permutation")
def online_without_rescaling(x: Any, *, axis: int) -> Any:
    """the online sum, over blocks of 64, is not rescaled when the maximum grows.

    Shows: rows longer than a block whose maximum comes later. Hides: shorter rows, the maximum in the first block.
    """
    moved = np.moveaxis(x, axis, -1)
    m, total = finite_maximum(moved[..., :64], -1), 0.0
    for start in range(0, moved.shape[-1], 64):
        block = moved[..., start : start + 64]
        m = np.maximum(m, finite_maximum(block, -1)) if start else m
        total = total + np.sum(np.exp(block - m), axis=-1, keepdims=True)
    return np.squeeze(m + np.log(total), axis=-1)


@deviation("reference", "minus_infinity_is_absence", "minus_infinity_is_a_vanishing_entry")
def minus_infinity_taken_for_zero(x: Any, *, axis: int) -> Any:
    """entries of −∞ are replaced by 0, as a guard against infinities does.

    Shows: entries of −∞. Hides: finite rows, or rows far above 0.
    """
    return logsumexp(finite_or_zero(x), axis=axis)


@deviation("nothing_but_minus_infinity")
def nan_of_an_empty_sum(x: Any, *, axis: int) -> Any:
    """a row of −∞ alone gives NaN, as −∞ − (−∞) does.

    Shows: such a row. Hides: any finite entry.
    """
    m = exact_maximum(x, axis)
    return np.squeeze(m + np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)), axis=axis)


@deviation("reference", "axis")
def axis_ignored(x: Any, *, axis: int) -> Any:
    """the axis is the last one, whatever is given.

    Shows: any other axis. Hides: axis = −1.
    """
    return logsumexp(x, axis=-1)


@deviation("reference", kind="arithmetic", dtypes=HALF)
def half_accumulation(x: Any, *, axis: int, held: Any) -> Any:
    """the exponentials are summed in the dtype of x, one after the other.

    Shows: flat rows of some hundred entries and more, where the sum stops growing. Hides: short or peaked rows, float32.
    """
    m = finite_maximum(x, axis)
    return np.squeeze(m + np.log(accumulate(np.exp(x - m), held, axis)), axis=axis)


@deviation("no_entries")
def no_entries_as_zero(x: Any, *, axis: int) -> Any:
    """an axis without entries gives 0: the maximum of no entries, where nothing is added to it.

    Shows: an axis without entries. Hides: all others.
    """
    return logsumexp(x, axis=axis) if x.shape[axis] else np.sum(x, axis=axis)
