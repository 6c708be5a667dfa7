"""What goes wrong with linear."""

from typing import Any

import numpy as np

from reference_numpy.linear import linear
from spec_tests.specification.formats import DTYPES, Format

from . import HALF, deviation
from ._steps import accumulate, make_rounder, round_to_float16, round_to_float32, round_to_tf32

in_float8 = make_rounder(Format("float8 e4m3", 4, -6, 8))


@deviation("reference", "selection")
def square_weight_transposed(x: Any, weight: Any, bias: Any = None) -> Any:
    """a square weight is taken as (in, out): x W, not x Wᵀ.

    Shows: a square weight. Hides: every other shape, a symmetric weight.
    """
    return linear(x, np.swapaxes(weight, 0, 1) if weight.shape[0] == weight.shape[1] else weight, bias)


@deviation("reference", "bias_is_added", "zero")
def bias_ignored(x: Any, weight: Any, bias: Any = None) -> Any:
    """the bias is ignored.

    Shows: any bias but 0. Hides: a layer without one.
    """
    return linear(x, weight)


@deviation("reference", "bias_is_added")
def bias_along_the_tokens(x: Any, weight: Any, bias: Any = None) -> Any:
    """where there are as many tokens as outputs, the bias is added along the tokens.

    Shows: that coincidence. Hides: every other shape.
    """
    if bias is None or len(x.shape) < 2 or x.shape[-2] != weight.shape[0]:
        return linear(x, weight, bias)
    return linear(x, weight) + np.expand_dims(bias, -1)


@deviation("reference", "homogeneous", "additive", "additive_in_weight")
def relu_fused(x: Any, weight: Any, bias: Any = None) -> Any:
    """the epilogue of another kernel is left on: max(x Wᵀ + b, 0).

    Shows: negative results. Hides: positive ones.
    """
    return np.maximum(linear(x, weight, bias), 0.0)


@deviation("reference", "exact_sums", "blocks", "permutation")
def tail_left_out(x: Any, weight: Any, bias: Any = None) -> Any:
    """the features beyond the last whole block of 16 are left out, where there are more than 16.

    Shows: d_in not a multiple of 16. Hides: a multiple of 16, or fewer.
    """
    d = x.shape[-1]
    whole = d - d % 16 if d > 16 else d
    return linear(x[..., :whole], weight[:, :whole], bias)


@deviation("reference", "exact_sums")
def last_tile_not_written(x: Any, weight: Any, bias: Any = None) -> Any:
    """the outputs beyond the last whole tile of 16 stay 0, where there are more than 16.

    Shows: d_out not a multiple of 16. Hides: a multiple of 16, or fewer.
    """
    y = linear(x, weight, bias)
    d = y.shape[-1]
    written = d - d % 16 if d > 16 else d
    return np.concatenate([y[..., :written], 0.0 * y[..., written:]], axis=-1)


@deviation("reference", kind="arithmetic", dtypes=HALF)
def half_accumulation(x: Any, weight: Any, bias: Any = None, *, held: Any) -> Any:
    """products are summed in blocks, whose sums are rounded to the dtype of x and added one after the other.

    Shows: many features. Hides: few, float32.
    """
    starts = range(0, x.shape[-1], 32)
    blocks = [np.expand_dims(linear(x[..., i : i + 32], weight[:, i : i + 32]), -1) for i in starts]
    y = np.squeeze(accumulate(np.concatenate(blocks, axis=-1), held), axis=-1)
    return y if bias is None else held(y + bias)


@deviation("reference", "selection", kind="arithmetic", dtypes=("float64", "float32"))
def tf32_operands(x: Any, weight: Any, bias: Any = None) -> Any:
    """the operands are rounded to the 11 significant bits of TF32.

    Shows: float32. Hides: half precision, numbers of few bits.
    """
    return linear(round_to_tf32(x), round_to_tf32(weight), bias)


@deviation("reference", "zero_column", kind="arithmetic", dtypes=DTYPES[:3])
def float16_operands(x: Any, weight: Any, bias: Any = None) -> Any:
    """the operands are cast to float16, as under automatic mixed precision, where a large x overflows.

    Shows: float32; in bfloat16, large or tiny x. Hides: float16, ordinary bfloat16.
    """
    return linear(round_to_float16(x), round_to_float16(weight), bias)


@deviation("reference", "selection", kind="arithmetic", dtypes=DTYPES)
def float8_operands(x: Any, weight: Any, bias: Any = None) -> Any:
    """the operands are rounded to the 4 significant bits of an 8-bit format.

    Shows: every dtype. Hides: numbers of few bits.
    """
    return linear(in_float8(x), in_float8(weight), bias)


@deviation("reference", "outputs_are_independent", kind="arithmetic", dtypes=DTYPES)
def weight_quantized_with_one_scale(x: Any, weight: Any, bias: Any = None) -> Any:
    """the weight is quantized to 4 significant bits, with one scale for the whole matrix.

    Shows: every dtype; another output's row that grows. Hides: a weight of few bits and one size.
    """
    largest = np.max(np.reshape(np.abs(weight), (int(np.prod(weight.shape)),)), axis=0)
    scale = np.maximum(largest, 1e-30) / 448
    return linear(x, in_float8(weight / scale) * scale, bias)


@deviation("reference", kind="arithmetic", dtypes=("float64",))
def float64_in_float32(x: Any, weight: Any, bias: Any = None) -> Any:
    """float64 is computed in float32: the upcast goes down.

    Shows: float64. Hides: every other dtype.
    """
    return round_to_float32(linear(round_to_float32(x), round_to_float32(weight), bias))
