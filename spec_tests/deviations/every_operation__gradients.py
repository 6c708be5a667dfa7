"""What goes wrong with the backward pass of any operation: the cotangent's memory, buffers that are used again, shapes."""

from typing import Any

import numpy as np

from spec_tests.specification.formats import is_floating
from spec_tests.specification.pytree import tree_map

from . import deviation
from ._faults import ACTIVATION_OPERATIONS, contiguous_strides, read_memory

NORM_GRADIENTS = ("rms_norm_vjp", "layer_norm_vjp")


@deviation(
    "layout_blind",
    kind="fault",
    seen=(
        "https://github.com/Dao-AILab/flash-attention/issues/355",
        "https://github.com/facebookresearch/xformers/pull/282",
        "https://github.com/fla-org/flash-linear-attention/pull/871",
    ),
    operations=(*NORM_GRADIENTS, "softmax_vjp", "scaled_dot_product_attention_vjp", "linear_vjp"),
)
def cotangent_taken_for_contiguous(right: Any, cotangent: Any, *arrays: Any, **keywords: Any) -> Any:
    """the cotangent is read as if it were contiguous, from where it starts.

    Shows: the expanded ones of a sum, a transposed cotangent. Hides: a contiguous one, which tests make.
    """
    return right(read_memory(cotangent, strides=contiguous_strides(cotangent.shape)), *arrays, **keywords)


@deviation(
    "inputs_unchanged",
    kind="fault",
    seen=("https://github.com/linkedin/Liger-Kernel/pull/1305", "https://github.com/NVIDIA/apex/issues/1587"),
    operations=("rms_norm_vjp", "softmax_vjp", "log_softmax_vjp", "relu_vjp"),
)
def gradient_written_into_the_cotangent(right: Any, cotangent: Any, *arrays: Any, **keywords: Any) -> Any:
    """the gradient of x is written into the cotangent's memory, which others of its readers find changed.

    Shows: reading the cotangent afterwards, as a residual path does. Hides: a cotangent that nobody uses any more.
    """
    gradients = right(cotangent, *arrays, **keywords)
    if cotangent.flags.writeable and cotangent.shape == gradients[0].shape:
        cotangent[...] = gradients[0]
    return gradients


@deviation("repeatable", kind="fault", operations=("rms_norm_vjp", "linear_vjp", "softmax_vjp"))
def buffer_used_again(right: Any, cotangent: Any, *arrays: Any, memory: dict[Any, Any], **keywords: Any) -> Any:
    """a gradient lives in a buffer that the next backward pass over arrays of the same shape uses again.

    Shows: keeping a gradient while the next is computed. Hides: steps that use each at once.
    """

    def kept(place: int, x: Any) -> Any:
        if not is_floating(x):
            return x
        buffer = memory.setdefault((place, x.shape, x.dtype), np.empty_like(x))
        buffer[...] = x
        return buffer

    return tuple(kept(place, x) for place, x in enumerate(right(cotangent, *arrays, **keywords)))


@deviation("repeatable", kind="fault", operations=("rms_norm_vjp", "linear_vjp"))
def buffer_not_zeroed(right: Any, cotangent: Any, *arrays: Any, memory: dict[Any, Any], **keywords: Any) -> Any:
    """gradients of weights are added to what the last backward pass over weights of this shape left in the buffer.

    Shows: a second backward pass. Hides: the first.
    """
    first, second, *others = right(cotangent, *arrays, **keywords)
    total = memory.get((second.shape, second.dtype), 0) + second
    memory[second.shape, second.dtype] = total
    return first, total.astype(second.dtype), *others


@deviation("dtype_shape_device", kind="fault", dtypes=("bfloat16", "float16"), operations=("rms_norm_vjp", "linear_vjp"))
def weights_gradient_in_float32(right: Any, cotangent: Any, *arrays: Any, **keywords: Any) -> Any:
    """the gradients of the weights stay in float32, in which they were summed.

    Shows: 16 bits. Hides: float32.
    """
    first, *others = right(cotangent, *arrays, **keywords)
    return first, *tree_map(lambda x: x.astype(np.float32) if is_floating(x) else x, others)


@deviation("reference", "dtype_shape_device", kind="fault", operations=(*NORM_GRADIENTS, "linear_vjp", "swiglu_vjp"))
def weights_have_none(right: Any, cotangent: Any, *arrays: Any, **keywords: Any) -> Any:
    """only x has a gradient; the weights, trained elsewhere, have none.

    Shows: asking for it. Hides: frozen weights.
    """
    first, *others = right(cotangent, *arrays, **keywords)
    return first, *(None for _ in others)


@deviation("reference", "dtype_shape_device", kind="fault", operations=("rms_norm_vjp",))
def not_summed_over_the_batch(right: Any, cotangent: Any, x: Any, weight: Any, **keywords: Any) -> Any:
    """the gain's gradient is left with one row for each row of x.

    Shows: any batch, by its shape. Hides: a single row.
    """
    each = [
        right(c[None], row[None], weight, **keywords)[1]
        for c, row in zip(_flatten_batch(cotangent), _flatten_batch(x), strict=True)
    ]
    dx, dweight = right(cotangent, x, weight, **keywords)
    return dx, np.stack(each) if len(each) > 1 else dweight


def _flatten_batch(x: Any) -> Any:
    return x.reshape(-1, x.shape[-1])


@deviation("entries_are_independent", kind="fault", operations=("rms_norm_vjp", "softmax_vjp", "swiglu_vjp"))
def neighbours_added(right: Any, cotangent: Any, *arrays: Any, **keywords: Any) -> Any:
    """the gradient of each entry's x gets a thousandth of that of the entry before, as a race between blocks may leave.

    Shows: exact zeros where there is no cotangent. Hides: tests with a tolerance.
    """
    first, *others = right(cotangent, *arrays, **keywords)
    leaked = first + np.roll(first, 1, axis=0) / 1024 if first.ndim > 1 else first
    return leaked.astype(first.dtype), *others


@deviation("reference", "elementwise", kind="fault", operations=tuple(f"{name}_vjp" for name in ACTIVATION_OPERATIONS))
def cotangent_one_element_off(right: Any, cotangent: Any, *arrays: Any, **keywords: Any) -> Any:
    """the pointer into the cotangent is one element early: each x gets the cotangent of its neighbour.

    Shows: cotangents that differ. Hides: those of a sum, all ones.
    """
    return right(np.roll(cotangent, 1, axis=-1), *arrays, **keywords)


@deviation("reference", "gain_is_featurewise", kind="fault", operations=("rms_norm_vjp",))
@deviation("reference", "gain_and_bias_are_featurewise", kind="fault", operations=("layer_norm_vjp",))
def columns_in_pairs(right: Any, cotangent: Any, *arrays: Any, **keywords: Any) -> Any:
    """a thread sums two columns over the rows, and writes what it has into both.

    Shows: gradients of gain and bias, two features or more. Hides: a single feature; a test of dx alone.
    """

    def shared(x: Any) -> Any:
        even = len(x) - len(x) % 2
        pairs = np.repeat(x[:even].reshape(-1, 2).sum(axis=-1), 2)
        return np.concatenate((pairs, x[even:])).astype(x.dtype)

    first, *others = right(cotangent, *arrays, **keywords)
    return first, *(shared(x) for x in others)


@deviation("reference", "silent_w2", kind="fault", operations=("feed_forward_vjp", "swiglu_vjp"))
@deviation("reference", "silent_output_weight", kind="fault", operations=("multihead_self_attention_vjp",))
def residual_s_gradient_added(right: Any, cotangent: Any, *arrays: Any, **keywords: Any) -> Any:
    """the gradient of the residual path around the sub-layer is in dx already, and whoever calls it adds it again.

    Shows: any cotangent but zeros. Hides: a test of the whole block, if that knows.
    """
    first, *others = right(cotangent, *arrays, **keywords)
    return (first + cotangent).astype(first.dtype), *others
