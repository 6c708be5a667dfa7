"""What goes wrong with the kind, the dtype and the shape of results, and with sizes, whatever the operation."""

from typing import Any

import numpy as np

from . import HALF, deviation
from ._faults import ALIBI_OPERATIONS, MASK_OPERATIONS, SOFTMAX_OPERATIONS


@deviation("dtype_shape_device", kind="fault", operations=("logsumexp",))
def reduced_axis_kept(right: Any, x: Any, *, axis: int) -> Any:
    """the reduced axis is kept, with size one.

    Shows: the shape. Hides: the values.
    """
    return np.expand_dims(np.asarray(right(x, axis=axis)), axis)


@deviation("dtype_shape_device", kind="fault", operations=("rope", "causal_mask", "sliding_window_mask", "alibi_slopes"))
def axes_of_size_one_squeezed(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """every axis of size one is squeezed out of the result.

    Shows: any size of one. Hides: all others.
    """
    return np.squeeze(np.asarray(right(*arguments, **keywords)))


@deviation(
    "dtype_shape_device", kind="fault", operations=("layer_norm", "local_attention", "multihead_self_attention", "transformer_lm")
)
def second_result_returned(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """a pair is returned: the result and something else, weights, statistics or a cache.

    Shows: any call. Hides: callers that take the first of a pair.
    """
    return right(*arguments, **keywords), None


@deviation("dtype_shape_device", kind="fault", operations=("sigmoid", "softmax", "rope", "rms_norm"))
def nothing_returned(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the result is written over the first argument, and nothing is returned.

    Shows: any call. Hides: nothing.
    """
    if x.flags.writeable:
        x[...] = right(x, *rest, **keywords)


@deviation("dtype_shape_device", kind="fault", operations=("relu", "sigmoid", "silu", "gelu"))
def python_number_returned(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """a Python float is returned where the result has one element and no axis.

    Shows: a result without axes. Hides: all others.
    """
    y = np.asarray(right(*arguments, **keywords))
    return y if y.ndim else y.item()


@deviation("dtype_shape_device", kind="fault", operations=(*MASK_OPERATIONS, *ALIBI_OPERATIONS))
def python_lists_returned(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """nested Python lists are returned.

    Shows: any call. Hides: nothing.
    """
    return np.asarray(right(*arguments, **keywords)).tolist()


@deviation(
    "dtype_shape_device",
    kind="fault",
    dtypes=("float32", *HALF),
    operations=("swiglu", "feed_forward", "embedding", "alibi_slopes"),
)
def float64_returned(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """the result is float64: a float64 constant has promoted it.

    Shows: every other dtype. Hides: float64.
    """
    return np.asarray(right(*arguments, **keywords)).astype(np.float64)


@deviation("dtype_shape_device", kind="fault", dtypes=HALF, operations=("logsumexp", "relu", "embedding", "alibi_bias"))
def float32_returned(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """the result of 16-bit arguments stays in float32.

    Shows: 16-bit dtypes. Hides: float32.
    """
    return np.asarray(right(*arguments, **keywords)).astype(np.float32)


@deviation(
    "dtype_shape_device", "reference", kind="fault", dtypes=("float64",), operations=("softmax", "relu", "swiglu", "embedding")
)
def float32_for_float64(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """everything is cast to float32 and stays there.

    Shows: float64. Hides: all other dtypes.
    """
    return np.asarray(right(*arguments, **keywords)).astype(np.float32)


@deviation(
    "dtype_shape_device",
    kind="fault",
    dtypes=("bfloat16",),
    like=("result-through-float16", "operands-in-float16"),
    operations=("log_softmax", "scaled_dot_product_attention", "grouped_query_attention", "linear"),
)
def float16_for_bfloat16(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """every dtype of 16 bits is treated as float16.

    Shows: bfloat16. Hides: all other dtypes.
    """
    with np.errstate(all="ignore"):
        return np.asarray(right(*arguments, **keywords)).astype(np.float16)


@deviation("dtype_shape_device", kind="fault", operations=MASK_OPERATIONS)
def mask_of_integers(right: Any, **keywords: Any) -> Any:
    """the mask holds the integers 0 and 1.

    Shows: the dtype; ~mask is true everywhere. Hides: multiplication.
    """
    return right(**keywords).astype(np.int64)


@deviation("dtype_shape_device", "reference", kind="fault", operations=MASK_OPERATIONS)
def mask_to_be_added(right: Any, **keywords: Any) -> Any:
    """the mask holds floating numbers, 0 and minus infinity, to be added to scores.

    Shows: any call. Hides: nothing.
    """
    return np.where(right(**keywords), np.float32(0), np.float32(-np.inf))


@deviation("reference", kind="fault", operations=("logsumexp", "embedding", "causal_mask", "sliding_window_mask"))
def transposed_where_square(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """the last two axes are swapped where they have one size: an axis was recognized by its size.

    Shows: square results. Hides: all others.
    """
    y = np.asarray(right(*arguments, **keywords))
    return np.swapaxes(y, -1, -2) if y.ndim > 1 and y.shape[-1] == y.shape[-2] else y


@deviation("reference", kind="fault", operations=("relu", "sigmoid", "alibi_slopes", "causal_mask"))
def single_column_refused(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """a last axis of size one is refused.

    Shows: a single feature, key or head. Hides: all others.
    """
    y = np.asarray(right(*arguments, **keywords))
    if any(x.shape[-1:] == (1,) for x in (*arguments, y)):
        raise IndexError("index 1 is out of bounds for axis 0 with size 1")
    return y


@deviation("reference", kind="fault", operations=("log_softmax", "embedding", "causal_mask", "sliding_window_mask"))
def odd_width_refused(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """a result whose last axis has an odd size is refused: two columns are stored at a time.

    Shows: an odd number of columns. Hides: an even one.
    """
    y = np.asarray(right(*arguments, **keywords))
    if y.ndim and y.shape[-1] % 2:
        raise RuntimeError("misaligned address")
    return y


@deviation("reference", kind="fault", operations=("log_softmax", "causal_mask", "sliding_window_mask", "alibi_slopes"))
def wrong_where_a_power_of_two(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """the fast path, for a width that is a power of two and at least eight, leaves the last column zero.

    Shows: 8, 16, 32, … columns. Hides: all other widths.
    """
    y = np.array(right(*arguments, **keywords))
    if y.ndim and y.shape[-1] >= 8 and y.shape[-1] & (y.shape[-1] - 1) == 0:
        y[..., -1] = 0
    return y


@deviation("reference", kind="fault", operations=("relu", "sigmoid", "silu", "embedding"))
def no_axes_refused(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """an argument without axes is refused.

    Shows: a single number, a single token. Hides: all others.
    """
    if x.ndim == 0:
        raise IndexError("tuple index out of range")
    return right(x, *rest, **keywords)


@deviation("reference", kind="fault", operations=SOFTMAX_OPERATIONS)
def negative_axis_off_by_one(right: Any, x: Any, *, axis: int) -> Any:
    """a negative axis is counted from one before the last.

    Shows: a negative axis of two axes or more. Hides: a single axis, axes counted from the front.
    """
    return right(x, axis=(axis - 1) % x.ndim if axis < 0 else axis)


@deviation("reference", kind="fault", operations=SOFTMAX_OPERATIONS)
def only_the_last_axis(right: Any, x: Any, *, axis: int) -> Any:
    """the axis is used only if it is the first or the last; any other is treated as the last.

    Shows: a middle axis of three. Hides: one and two axes.
    """
    middle = 0 < axis % x.ndim < x.ndim - 1
    return right(x, axis=-1 if middle else axis)


@deviation("reference", "every_argument_counts", kind="fault", operations=("layer_norm", "softmax", "silu", "feed_forward"))
def zeros_returned(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """the result is allocated, and never written.

    Shows: any call. Hides: nothing.
    """
    return np.zeros_like(right(*arguments, **keywords))


@deviation("reference", kind="fault", operations=("relu", "sigmoid", "silu", "gelu"))
def argument_copied(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the result is a copy of the first argument.

    Shows: any call. Hides: fixed points.
    """
    return x.copy()
