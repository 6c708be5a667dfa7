"""What goes wrong with log_softmax."""

from typing import Any

import numpy as np

from reference_numpy._marks import finite_or_zero
from reference_numpy.log_softmax import log_softmax
from reference_numpy.softmax import softmax
from spec_tests.specification.formats import DTYPES

from . import HALF, deviation
from ._steps import accumulate, exact_maximum, round_to_float32


@deviation(
    "reference",
    "finite_where_softmax_underflows",
    "differences",
    seen=("https://github.com/zackchase/mxnet-the-straight-dope/pull/382", "https://github.com/pytorch/pytorch/issues/725"),
)
def logarithm_of_softmax(x: Any, *, axis: int) -> Any:
    """it is the logarithm of softmax, which is −∞ where softmax underflows.

    Shows: entries far below the maximum. Hides: ordinary rows.
    """
    return np.log(softmax(x, axis=axis))


@deviation("reference", "sums_to_one", "minus_logsumexp")
def logarithm_of_softmax_and_epsilon(x: Any, *, axis: int) -> Any:
    """it is log(softmax(x) + 10⁻⁶), which never falls below −13.8.

    Shows: entries far below the maximum, entries of −∞. Hides: ordinary rows in half precision.
    """
    return np.log(softmax(x, axis=axis) + 1e-6)


@deviation("reference", "no_overflow", seen=("https://github.com/pytorch/pytorch/issues/795",))
def no_maximum_subtracted(x: Any, *, axis: int) -> Any:
    """the maximum is not subtracted: x − log(sum(exp(x))).

    Shows: large entries (−∞), rows far below zero (+∞). Hides: ordinary rows.
    """
    return x - np.log(np.sum(np.exp(x), axis=axis, keepdims=True))


@deviation("reference", "minus_infinity", "differences", seen=("https://github.com/PaddlePaddle/Paddle/issues/4366",))
def differences_clipped(x: Any, *, axis: int) -> Any:
    """x − max(x) is clipped at −64, so that no logarithm is much smaller.

    Shows: entries of −∞, or far below the maximum. Hides: rows within 64 of it.
    """
    return log_softmax(np.maximum(x - exact_maximum(x, axis), -64.0), axis=axis)


@deviation("reference", "order", "equal_entries")
def maximum_not_given_back(x: Any, *, axis: int) -> Any:
    """the maximum is subtracted inside the sum alone: x − log(sum(exp(x − max(x)))).

    Shows: every row whose maximum is not 0. Hides: rows whose maximum is 0.
    """
    return x - np.log(np.sum(np.exp(x - exact_maximum(x, axis)), axis=axis, keepdims=True))


@deviation("reference", "shift")
def maximum_at_least_zero(x: Any, *, axis: int) -> Any:
    """the running maximum starts at 0, so that a row far below it underflows.

    Shows: rows whose entries are all far below zero. Hides: any row with an entry above zero.
    """
    shifted = x - np.maximum(exact_maximum(x, axis), 0.0)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


@deviation("reference", "exponential")
def base_two(x: Any, *, axis: int) -> Any:
    """the logarithm is to base 2.

    Shows: every row. Hides: one-hot rows of a single entry.
    """
    return log_softmax(x, axis=axis) / np.log(2.0)


@deviation("reference", "axis")
def axis_ignored(x: Any, *, axis: int) -> Any:
    """the axis is the last one, whatever is given.

    Shows: any other axis. Hides: axis = −1.
    """
    return log_softmax(x, axis=-1)


@deviation("reference", "permutation")
def online_without_rescaling(x: Any, *, axis: int) -> Any:
    """the online sum, over blocks of 64, is not rescaled when the maximum grows.

    Shows: rows longer than a block whose maximum comes later. Hides: shorter rows, the maximum in the first block.
    """
    moved = np.moveaxis(x, axis, -1)
    m, total = exact_maximum(moved[..., :64], -1), 0.0
    for start in range(0, moved.shape[-1], 64):
        block = moved[..., start : start + 64]
        m = np.maximum(m, exact_maximum(block, -1)) if start else m
        total = total + np.sum(np.exp(block - m), axis=-1, keepdims=True)
    return np.moveaxis(moved - m - np.log(total), -1, axis)


@deviation("reference", "minus_infinity", "minus_infinity_is_absence")
def minus_infinity_taken_for_zero(x: Any, *, axis: int) -> Any:
    """entries of −∞ are replaced by 0, as a guard against infinities does.

    Shows: entries of −∞. Hides: finite rows, or rows far above 0.
    """
    return log_softmax(finite_or_zero(x), axis=axis)


@deviation("reference", "minus_infinity")
def minus_infinity_made_finite(x: Any, *, axis: int) -> Any:
    """results below −10⁴ are raised to it, so that none is −∞.

    Shows: entries of −∞, entries that far below the maximum. Hides: ordinary rows.
    """
    return np.maximum(log_softmax(x, axis=axis), -1e4)


@deviation("reference", "shift", kind="arithmetic", dtypes=DTYPES[1:])
def logsumexp_stored(x: Any, *, axis: int, held: Any) -> Any:
    """it is x − logsumexp(x), which has been stored in the dtype of x and lost its small part beside a large offset.

    Shows: rows far from zero. Hides: rows around it.
    """
    m = exact_maximum(x, axis)
    return x - held(m + np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)))


@deviation("reference", "equal_entries", kind="arithmetic", dtypes=HALF)
def half_accumulation(x: Any, *, axis: int, held: Any) -> Any:
    """the exponentials are summed in the dtype of x, one after the other.

    Shows: flat rows of some hundred entries and more, where the sum stops growing. Hides: short or peaked rows, float32.
    """
    shifted = x - exact_maximum(x, axis)
    return shifted - np.log(accumulate(np.exp(shifted), held, axis))


@deviation("reference", kind="arithmetic", dtypes=("float64",))
def float64_in_float32(x: Any, *, axis: int) -> Any:
    """float64 is computed in float32: the upcast goes down.

    Shows: float64. Hides: every other dtype.
    """
    return round_to_float32(log_softmax(round_to_float32(x), axis=axis))
