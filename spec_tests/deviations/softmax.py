"""What goes wrong with softmax: another shift, another exponential, another axis."""

from typing import Any

import numpy as np

from reference_numpy._marks import exact, finite_or_zero
from reference_numpy.softmax import softmax

from . import deviation
from ._steps import exact_maximum


def softmax_of_shifted(x: Any, shift: Any, axis: int) -> Any:
    e = np.exp(x - shift)
    return e / np.sum(e, axis=axis, keepdims=True)


# --- the shift ------------------------------------------------------------------------------------------------------


@deviation("reference", "no_overflow", "order")
def no_maximum_subtracted(x: Any, *, axis: int) -> Any:
    """the maximum is not subtracted: exp(x) / sum(exp(x)).

    Shows: large entries (NaN), rows far below zero (0/0). Hides: ordinary rows.
    """
    e = np.exp(x)
    return e / np.sum(e, axis=axis, keepdims=True)


@deviation(
    "reference",
    "shift",
    seen=("https://github.com/FluxML/NNlib.jl/pull/43", "https://github.com/uTensor/uTensor/pull/176"),
)
def maximum_at_least_zero(x: Any, *, axis: int) -> Any:
    """the running maximum starts at 0, so that a row far below it underflows.

    Shows: rows whose entries are all far below zero. Hides: any row with an entry above zero.
    """
    return softmax_of_shifted(x, np.maximum(exact_maximum(x, axis), 0.0), axis)


@deviation("reference", "batch_independence")
def maximum_of_all(x: Any, *, axis: int) -> Any:
    """the maximum of the whole array is subtracted, not that of each row, so that rows far below it underflow.

    Shows: rows far apart. Hides: a single row, rows alike.
    """
    return softmax_of_shifted(x, exact(np.max(np.reshape(x, (int(np.prod(x.shape)),)), axis=0)), axis)


@deviation("reference", "minus_infinity_is_zero", seen=("https://github.com/PaddlePaddle/Paddle/issues/4366",))
def differences_clipped(x: Any, *, axis: int) -> Any:
    """x − max(x) is clipped at −64, so that no probability is zero.

    Shows: entries of −∞, or far below the maximum. Hides: rows within 64 of it.
    """
    return softmax_of_shifted(np.maximum(x - exact_maximum(x, axis), -64.0), 0.0, axis)


@deviation("reference", "no_overflow")
def mean_subtracted(x: Any, *, axis: int) -> Any:
    """the mean is subtracted, not the maximum, so that a peak overflows.

    Shows: an entry far above its row's mean, or one of −∞. Hides: ordinary rows.
    """
    return softmax_of_shifted(x, exact(np.mean(x, axis=axis, keepdims=True)), axis)


@deviation("reference", "shift", seen=("https://github.com/tracel-ai/burn/pull/4697",))
def maximum_and_sum_clamped(x: Any, *, axis: int) -> Any:
    """the maximum is raised to −10⁴ and the sum to 10⁻⁶, to be safe where a row is empty.

    Shows: rows below −10⁴. Hides: every other row.
    """
    e = np.exp(x - np.maximum(exact_maximum(x, axis), -1e4))
    return e / np.maximum(np.sum(e, axis=axis, keepdims=True), 1e-6)


# --- the exponential ------------------------------------------------------------------------------------------------


@deviation("reference", "ratio")
def base_two(x: Any, *, axis: int) -> Any:
    """the base is 2, not e: exp2 without the factor log2(e).

    Shows: every row. Hides: equal entries, one-hot rows.
    """
    return softmax(x * np.log(2.0), axis=axis)


@deviation("reference", "ratio")
def compounded_exponential(x: Any, *, axis: int) -> Any:
    """the exponential is the fast one, (1 + x/256)^256.

    Shows: differences beyond 1 in float32, beyond 4 in half precision. Hides: near-equal entries, one-hot rows.
    """
    e = np.maximum(1 + (x - exact_maximum(x, axis)) / 256, 0.0)
    for _ in range(8):
        e = np.square(e)
    return e / np.sum(e, axis=axis, keepdims=True)


@deviation("reference", "minus_infinity_is_zero", "one_hot")
def differences_clamped(x: Any, *, axis: int) -> Any:
    """differences from the maximum are clamped at −15 before the exponential.

    Shows: entries of −∞, entries far below the maximum. Hides: rows within 15 of each other.
    """
    e = np.exp(np.maximum(x - exact_maximum(x, axis), -15.0))
    return e / np.sum(e, axis=axis, keepdims=True)


@deviation("reference", "minus_infinity_is_zero", "minus_infinity_is_absence")
def minus_infinity_taken_for_zero(x: Any, *, axis: int) -> Any:
    """entries of −∞ are replaced by 0, as a guard against infinities does.

    Shows: entries of −∞. Hides: finite rows, or rows far above 0.
    """
    return softmax(finite_or_zero(x), axis=axis)


@deviation("reference", "one_finite_entry")
def minus_ten_thousand_for_minus_infinity(x: Any, *, axis: int) -> Any:
    """−10⁴ replaces −∞, and every number below −10⁴.

    Shows: finite entries that low. Hides: ordinary rows, with or without −∞.
    """
    return softmax(np.maximum(x, -1e4), axis=axis)


# --- the axis -------------------------------------------------------------------------------------------------------


@deviation("reference", "axis")
def axis_ignored(x: Any, *, axis: int) -> Any:
    """the axis is the last one, whatever is given.

    Shows: any other axis. Hides: axis = −1.
    """
    return softmax(x, axis=-1)


@deviation("reference", "axis", kind="convention")
def flattened_from_axis(x: Any, *, axis: int) -> Any:
    """all axes from the given one on are normalized together, as ONNX did before its operator set 13.

    Shows: an axis that is not the last. Hides: the last axis.
    """
    axis %= len(x.shape)
    leading = x.shape[:axis]
    flat = np.reshape(x, (*leading, int(np.prod(x.shape[axis:]))))
    return np.reshape(softmax(flat, axis=axis), x.shape)


@deviation("reference", "probabilities")
def logarithm(x: Any, *, axis: int) -> Any:
    """the logarithm of the probabilities is returned, as log_softmax does.

    Shows: every row. Hides: nothing.
    """
    shifted = x - exact_maximum(x, axis)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))
