"""What goes wrong with the scales, the zero points and the biases of dequantize."""

from typing import Any

import numpy as np

from reference_numpy._marks import product
from reference_numpy._narrow import INTEGERS, spread
from reference_numpy.dequantize import dequantize
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.narrow_formats import NARROW_FORMATS

from . import deviation
from ._blocks import across_rows, from_the_end, slid_back, split_evenly, spread_first, spread_largest, transposed
from ._dequantized import redequantize
from ._steps import make_rounder

FLASHINFER_SCALE = ("https://github.com/flashinfer-ai/flashinfer/pull/4023",)
VLLM_SCALES = ("https://github.com/vllm-project/vllm/pull/43557",)
AITER_SCALES = ("https://github.com/ROCm/aiter/pull/1258",)
TILE_INDEX = ("https://github.com/tile-ai/TileOPs/pull/1666",)
FLASHINFER_LAYOUT = ("https://github.com/flashinfer-ai/flashinfer/issues/2147",)


# --- zero points and biases -----------------------------------------------------------------------------------------


@deviation("reference", "difference")
def difference_in_eight_bits(*arrays: Any, **options: Any) -> Any:
    """q - zero_point is computed in the eight bits of q, and wraps around.

    Shows: differences beyond the range of q's carrier. Hides: others.
    """

    def wrap(q: Any, z: Any, dtype: str) -> Any:
        low = -128 if INTEGERS[dtype][0] < 0 else 0
        return (q - z - low) % 256 + low

    return redequantize(*arrays, **options, difference=wrap)


@deviation("reference", "difference")
def difference_clamped(*arrays: Any, **options: Any) -> Any:
    """q - zero_point is clamped to the range of q.

    Shows: differences beyond the range, as all negative ones of unsigned formats. Hides: others.
    """

    def clamp(q: Any, z: Any, dtype: str) -> Any:
        return np.clip(q - z, *INTEGERS[dtype])

    return redequantize(*arrays, **options, difference=clamp)


@deviation("reference", "shifted_together", "zero_point_is_zero")
def zero_point_ignored(*arrays: Any, **options: Any) -> Any:
    """zero_point is not used.

    Shows: any zero point but 0. Hides: none, or 0.
    """
    return redequantize(*arrays, **options, difference=lambda q, z, dtype: q)


@deviation("reference", "shifted_together", "zero_point_is_zero")
def zero_point_added(*arrays: Any, **options: Any) -> Any:
    """zero_point is added.

    Shows: any zero point but 0. Hides: none, or 0.
    """
    return redequantize(*arrays, **options, difference=lambda q, z, dtype: q + z)


@deviation("reference", "zero_point_is_zero", "shifted_together")
def zero_point_after_the_scale(q: Any, scale: Any, zero_point: Any = None, *arrays: Any, **options: Any) -> Any:
    """zero_point is subtracted after the multiplication: q * scale - zero_point.

    Shows: a zero point, and scales other than 1. Hides: no zero point.
    """
    y = dequantize(q, scale, None, *arrays, **options)
    return y if zero_point is None else y - spread(np.asarray(zero_point, dtype=float), options["block"], q.shape)


@deviation("reference", "stored_zero_point")
def zero_point_two_less(*arrays: Any, **options: Any) -> Any:
    """a zero point of uint4 is stored less two.

    Shows: uint4 with a zero point. Hides: other formats.
    """
    return redequantize(*arrays, **options, difference=lambda q, z, dtype: q - (z + 2 * (dtype == "uint4")))


@deviation("stored_zero_point", "zero_point_is_zero")
def zero_point_sometimes_less_one(*arrays: Any, **options: Any) -> Any:
    """a zero point of uint4 that is stored as 0 stands for 1, any other for itself.

    Shows: uint4 with a zero point of 0, beside others. Hides: other formats.
    """
    return redequantize(*arrays, **options, difference=lambda q, z, dtype: q - np.where((z == 0) & (dtype == "uint4"), 2.0, z))


@deviation("reference", "bias_is_added_last")
def bias_ignored(*arrays: Any, **options: Any) -> Any:
    """bias is not used.

    Shows: any bias but 0. Hides: none.
    """
    return redequantize(*arrays, **options, add_bias=lambda y, bias, scale: y)


@deviation("reference", "bias_is_added_last", "zero_point_is_zero")
def bias_before_the_scale(*arrays: Any, **options: Any) -> Any:
    """bias is added before the multiplication: (q + bias) * scale.

    Shows: a bias, and scales other than 1. Hides: none.
    """
    return redequantize(*arrays, **options, add_bias=lambda y, bias, scale: y + bias * scale)


@deviation("reference", "bias_is_added_last", "zero_point_is_zero")
def bias_subtracted(*arrays: Any, **options: Any) -> Any:
    """bias is subtracted: it is taken for the offset that quantizing added.

    Shows: any bias but 0. Hides: none.
    """
    return redequantize(*arrays, **options, add_bias=lambda y, bias, scale: y - bias)


# --- scales ---------------------------------------------------------------------------------------------------------


def _scaled_by(*arrays: Any, scale_of: Any, **options: Any) -> Any:
    """Return what dequantize gives with another value of each scale."""

    def multiply(x: Any, scale: Any, *others: Any, roundings: int) -> Any:
        value = np.asarray(getattr(scale, "value", scale))
        with np.errstate(all="ignore"):
            return product(x, scale_of(value), *others, roundings=roundings)

    return redequantize(*arrays, **options, multiply=multiply)


@deviation("reference", "powers_of_two", "all_codes")
def divided_by_the_scale(*arrays: Any, **options: Any) -> Any:
    """q is divided by the scale: it stands for its reciprocal.

    Shows: any scale but 1. Hides: 1.
    """
    return _scaled_by(*arrays, **options, scale_of=lambda scale: 1 / scale)


@deviation("reference", "powers_of_two")
def scale_squared(*arrays: Any, **options: Any) -> Any:
    """q is multiplied by the scale twice.

    Shows: any scale but 1. Hides: 1.
    """
    return _scaled_by(*arrays, **options, scale_of=lambda scale: scale * scale)


@deviation("reference", seen=FLASHINFER_SCALE)
def smallest_scale_is_zero(*arrays: Any, **options: Any) -> Any:
    """the code 0 of float8_e8m0fnu, 2⁻¹²⁷, is built from an exponent field, and becomes 0.

    Shows: that scale. Hides: every other one.
    """
    return _scaled_by(*arrays, **options, scale_of=lambda scale: np.where(scale == 2.0**-127, 0.0, scale))


@deviation("reference")
def largest_scale_is_infinite(*arrays: Any, **options: Any) -> Any:
    """the code 254 of float8_e8m0fnu, 2¹²⁷, is read as infinity, as 255 would be.

    Shows: that scale. Hides: every other one.
    """
    return _scaled_by(*arrays, **options, scale_of=lambda scale: np.where(scale == 2.0**127, np.inf, scale))


@deviation("reference", seen=VLLM_SCALES)
def power_of_two_read_as_float8(*arrays: Any, **options: Any) -> Any:
    """codes of scales in float8_e8m0fnu are read as those of float8_e4m3fn: NVFP4's scales on the path of MXFP4.

    Shows: scales in float8_e8m0fnu. Hides: other scales.
    """
    if options.get("scale_dtype") != "float8_e8m0fnu":
        return redequantize(*arrays, **options)
    written, read = NARROW_FORMATS["float8_e8m0fnu"], NARROW_FORMATS["float8_e4m3fn"]
    return _scaled_by(*arrays, **options, scale_of=lambda scale: read.decode(written.encode(scale)))


@deviation("reference", kind="arithmetic")
def scale_in_bfloat16(*arrays: Any, **options: Any) -> Any:
    """scales are rounded to bfloat16.

    Shows: float32 scales. Hides: scales of few bits.
    """
    return _scaled_by(*arrays, **options, scale_of=make_rounder(FORMATS["bfloat16"]))


@deviation("reference", seen=AITER_SCALES)
def first_scale_for_all(*arrays: Any, **options: Any) -> Any:
    """the first scale of each matrix is taken for all of its blocks.

    Shows: several blocks. Hides: a single one.
    """
    return redequantize(*arrays, **options, spread_scale=spread_first)


@deviation("reference", "blocks_are_independent")
def largest_scale_for_all(*arrays: Any, **options: Any) -> Any:
    """the largest scale of each matrix is taken for all of its blocks.

    Shows: several blocks. Hides: a single one, and equal scales.
    """
    return redequantize(*arrays, **options, spread_scale=spread_largest)


@deviation("reference", "block_by_block")
def short_block_first(*arrays: Any, **options: Any) -> Any:
    """blocks are counted from the end of an axis, so that the first one is the short one.

    Shows: an axis that is no multiple of its block. Hides: any other.
    """
    return redequantize(*arrays, **options, spread_scale=from_the_end)


@deviation("reference", seen=TILE_INDEX)
def axis_split_evenly(*arrays: Any, **options: Any) -> Any:
    """an axis is split into blocks of equal lengths.

    Shows: an axis that is no multiple of its block. Hides: any other.
    """
    return redequantize(*arrays, **options, spread_scale=split_evenly)


@deviation("reference")
def last_block_slid_back(*arrays: Any, **options: Any) -> Any:
    """the last block begins early, so that it is as long as the others, and its scale is used from there on.

    Shows: an axis that is no multiple of its block. Hides: any other.
    """
    return redequantize(*arrays, **options, spread_scale=slid_back)


@deviation("reference")
def blocks_across_rows(*arrays: Any, **options: Any) -> Any:
    """blocks of a row are counted through the flat matrix, so that they do not begin with each row.

    Shows: blocks (1, n) where a row is no multiple of n. Hides: any other.
    """
    return redequantize(*arrays, **options, spread_scale=across_rows)


@deviation("reference", "block_by_block", seen=FLASHINFER_LAYOUT)
def scales_transposed(*arrays: Any, **options: Any) -> Any:
    """scales, zero points and biases are read as if they were stored column by column.

    Shows: several blocks in both directions. Hides: one row or one column of blocks.
    """
    return redequantize(*arrays, **options, spread_scale=transposed)


@deviation("reference", "permuted_in_a_block", "blocks_are_independent")
def scale_by_the_place_in_the_block(*arrays: Any, **options: Any) -> Any:
    """the scale is indexed by the place inside of the block, modulo the number of blocks.

    Shows: several blocks in a row. Hides: a single one, and equal scales.
    """

    def index(scale: Any, block: Any, shape: tuple[int, ...]) -> Any:
        whole = spread(scale[..., :, :1], (block[0], None), shape)
        if block[1] is None or not scale.shape[-1]:
            return whole
        columns = np.take(scale, np.arange(shape[-1]) % block[1] % scale.shape[-1], axis=-1)
        return spread(columns, (block[0], 1), shape)

    return redequantize(*arrays, **options, spread_scale=index)


@deviation("reference", "two_levels", "global_scale")
def global_scale_ignored(*arrays: Any, **options: Any) -> Any:
    """the global scale is not used.

    Shows: a global scale. Hides: none, or 1.
    """
    return redequantize(*arrays[:4], **{name: x for name, x in options.items() if name != "global_scale"})


@deviation("reference", "two_levels", "global_scale")
def global_scale_squared(*arrays: Any, **options: Any) -> Any:
    """the global scale is multiplied with twice: with the scales and with the product.

    Shows: a global scale. Hides: none, or 1.
    """

    def multiply(x: Any, scale: Any, *others: Any, roundings: int) -> Any:
        return product(x, scale, *others, *others, roundings=roundings + len(others))

    return redequantize(*arrays, **options, multiply=multiply)
