"""What goes wrong with the scales and the zero points of quantize."""

from typing import Any

import numpy as np

from reference_numpy._marks import quotient
from reference_numpy.quantize import quantize

from . import deviation
from ._blocks import across_rows, from_the_end, slid_back, split_evenly, spread_first, spread_largest
from ._quantized import requantize

FLASHINFER_SCALE = ("https://github.com/flashinfer-ai/flashinfer/pull/4023",)
AITER_SCALES = ("https://github.com/ROCm/aiter/pull/1258",)
TILE_INDEX = ("https://github.com/tile-ai/TileOPs/pull/1666",)


# --- zero points ----------------------------------------------------------------------------------------------------


@deviation("reference", "ties")
def zero_point_before_rounding(*arrays: Any, **options: Any) -> Any:
    """the zero point is added before the rounding: rint(t + zero_point).

    Shows: ties with an odd zero point. Hides: even zero points, and quotients that are no ties.
    """
    return requantize(*arrays, **options, integers=lambda t, z, low, high: np.clip(np.rint(t + z), low, high))


@deviation("reference")
def zero_point_after_the_clamp(*arrays: Any, **options: Any) -> Any:
    """the zero point is added after the clamp, so that the sum may leave the range, and is clamped again.

    Shows: quotients beyond the range, with a zero point. Hides: others.
    """

    def clamp_first(t: Any, z: Any, low: int, high: int) -> Any:
        return np.clip(np.clip(np.rint(t), low, high) + z, low, high)

    return requantize(*arrays, **options, integers=clamp_first)


@deviation("reference")
def zero_point_subtracted(*arrays: Any, **options: Any) -> Any:
    """the zero point is subtracted.

    Shows: any zero point. Hides: none, or 0.
    """
    return requantize(*arrays, **options, integers=lambda t, z, low, high: np.clip(np.rint(t) - z, low, high))


# --- scales ---------------------------------------------------------------------------------------------------------


@deviation("reference", "round_trip")
def multiplied_by_the_scale(*arrays: Any, **options: Any) -> Any:
    """x is multiplied by the scale: it stands for its reciprocal.

    Shows: any scale but 1. Hides: 1.
    """
    return requantize(*arrays, **options, divide=_multiply)


def _multiply(x: Any, scale: Any, *others: Any, roundings: int) -> Any:
    return quotient(x * scale, *others, np.ones(()), roundings=roundings)


@deviation("reference", seen=FLASHINFER_SCALE)
def smallest_scale_is_zero(*arrays: Any, **options: Any) -> Any:
    """the code 0 of float8_e8m0fnu, 2⁻¹²⁷, is built from an exponent field, and becomes 0.

    Shows: that scale. Hides: every other one.
    """

    def divide(x: Any, scale: Any, *others: Any, roundings: int) -> Any:
        value = np.asarray(getattr(scale, "value", scale))
        with np.errstate(all="ignore"):
            return quotient(x, np.where(value == 2.0**-127, 0.0, value), *others, roundings=roundings)

    return requantize(*arrays, **options, divide=divide)


@deviation("reference", seen=AITER_SCALES)
def first_scale_for_all(*arrays: Any, **options: Any) -> Any:
    """the first scale of each matrix is taken for all of its blocks.

    Shows: several blocks. Hides: a single one.
    """
    return requantize(*arrays, **options, spread_scale=spread_first)


@deviation("reference", "blocks_are_independent")
def largest_scale_for_all(*arrays: Any, **options: Any) -> Any:
    """the largest scale of each matrix is taken for all of its blocks.

    Shows: several blocks. Hides: a single one, and equal scales.
    """
    return requantize(*arrays, **options, spread_scale=spread_largest)


@deviation("reference")
def short_block_first(*arrays: Any, **options: Any) -> Any:
    """blocks are counted from the end of an axis, so that the first one is the short one.

    Shows: an axis that is no multiple of its block. Hides: any other.
    """
    return requantize(*arrays, **options, spread_scale=from_the_end)


@deviation("reference", seen=TILE_INDEX)
def axis_split_evenly(*arrays: Any, **options: Any) -> Any:
    """an axis is split into blocks of equal lengths.

    Shows: an axis that is no multiple of its block. Hides: any other.
    """
    return requantize(*arrays, **options, spread_scale=split_evenly)


@deviation("reference")
def last_block_slid_back(*arrays: Any, **options: Any) -> Any:
    """the last block begins early, so that it is as long as the others, and its scale is used from there on.

    Shows: an axis that is no multiple of its block. Hides: any other.
    """
    return requantize(*arrays, **options, spread_scale=slid_back)


@deviation("reference")
def blocks_across_rows(*arrays: Any, **options: Any) -> Any:
    """blocks of a row are counted through the flat matrix, so that they do not begin with each row.

    Shows: blocks (1, n) where a row is no multiple of n. Hides: any other.
    """
    return requantize(*arrays, **options, spread_scale=across_rows)


@deviation("reference")
def global_scale_ignored(*arrays: Any, **options: Any) -> Any:
    """the global scale is not used.

    Shows: a global scale. Hides: none, or 1.
    """
    return quantize(*arrays[:3], **{name: x for name, x in options.items() if name != "global_scale"})
