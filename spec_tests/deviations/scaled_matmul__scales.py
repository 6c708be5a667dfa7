"""What goes wrong with the scales of scaled_matmul."""

from typing import Any

import numpy as np

from reference_numpy._narrow import spread
from reference_numpy.scaled_matmul import scaled_matmul
from spec_tests.specification.narrow_formats import NARROW_FORMATS

from . import deviation
from ._blocks import across_rows, from_the_end, slid_back, split_evenly, spread_first, spread_largest, transposed
from ._dequantized import plain
from ._scaled import rescale

AITER_SCALES = ("https://github.com/ROCm/aiter/pull/1258",)
TILE_INDEX = ("https://github.com/tile-ai/TileOPs/pull/1666",)
FLASHINFER_LAYOUT = ("https://github.com/flashinfer-ai/flashinfer/issues/2147",)
FLASHINFER_ZEROS = ("https://github.com/flashinfer-ai/flashinfer/issues/3398",)
SMALLEST_NORMAL = 2.0**-6
GLOBAL = ("global_scale_a", "global_scale_b")


@deviation("reference", "one_block_at_a_time", "exact_integers", seen=AITER_SCALES)
def first_scale_for_all(*arrays: Any, **options: Any) -> Any:
    """the first scale of each operand is taken for all of its blocks.

    Shows: several blocks. Hides: a single one.
    """
    return rescale(*arrays, **options, spread_scale=spread_first)


@deviation("reference", "one_block_at_a_time")
def largest_scale_for_all(*arrays: Any, **options: Any) -> Any:
    """the largest scale of each operand is taken for all of its blocks.

    Shows: several blocks. Hides: a single one, and equal scales.
    """
    return rescale(*arrays, **options, spread_scale=spread_largest)


@deviation("reference", "one_block_at_a_time")
def scale_of_the_first_columns(*arrays: Any, **options: Any) -> Any:
    """the index of the scale does not move along K: that of the first block is taken for the whole row.

    Shows: several blocks of K. Hides: a single one.
    """

    def frozen(scale: Any, block: Any, shape: tuple[int, ...]) -> Any:
        return spread(scale[..., :1], (block[0], None), shape)

    return rescale(*arrays, **options, spread_scale=frozen)


@deviation("reference", "one_block_at_a_time", seen=FLASHINFER_LAYOUT)
def scales_transposed(*arrays: Any, **options: Any) -> Any:
    """scales are read column by column.

    Shows: several rows and several columns of blocks. Hides: a single one of either.
    """
    return rescale(*arrays, **options, spread_scale=transposed)


@deviation("reference", "one_block_at_a_time", seen=TILE_INDEX)
def axis_split_evenly(*arrays: Any, **options: Any) -> Any:
    """an axis is split into blocks of equal lengths.

    Shows: an axis that is no multiple of its block. Hides: any other.
    """
    return rescale(*arrays, **options, spread_scale=split_evenly)


@deviation("reference")
def last_block_slid_back(*arrays: Any, **options: Any) -> Any:
    """the last block begins early, so that it is as long as the others, and its scale is used from there on.

    Shows: an axis that is no multiple of its block. Hides: any other.
    """
    return rescale(*arrays, **options, spread_scale=slid_back)


@deviation("reference", "one_block_at_a_time")
def short_block_first(*arrays: Any, **options: Any) -> Any:
    """blocks are counted from the end of an axis, so that the first one is the short one.

    Shows: an axis that is no multiple of its block. Hides: any other.
    """
    return rescale(*arrays, **options, spread_scale=from_the_end)


@deviation("reference", "one_block_at_a_time")
def blocks_across_rows(*arrays: Any, **options: Any) -> Any:
    """blocks of a row are counted through the flat matrix, so that they do not begin with each row.

    Shows: blocks (1, n) where a row is no multiple of n. Hides: any other.
    """
    return rescale(*arrays, **options, spread_scale=across_rows)


@deviation("reference", "exchanged", seen=FLASHINFER_ZEROS)
def scales_of_a_few_rows_zero(*arrays: Any, **options: Any) -> Any:
    """the scales of a are zero where its number of rows is no multiple of 4.

    Shows: such a number. Hides: multiples of 4; a scale for the whole matrix.
    """

    def lose(scale: Any, block: Any, shape: tuple[int, ...]) -> Any:
        wide = spread(scale, block, shape)
        return wide * 0.0 if block == options.get("block_a") and (block or (0,))[0] == 1 and shape[-2] % 4 else wide

    return rescale(*arrays, **options, spread_scale=lose)


@deviation("reference", "powers_of_two")
def small_scales_raised(*arrays: Any, **options: Any) -> Any:
    """scales are at least 2⁻⁶, the smallest normal number of float8_e4m3fn, whatever their format is.

    Shows: smaller scales. Hides: others.
    """

    def raise_small(scale: Any, block: Any, shape: tuple[int, ...]) -> Any:
        return spread(np.maximum(scale, SMALLEST_NORMAL), block, shape)

    return rescale(*arrays, **options, spread_scale=raise_small)


@deviation("reference")
def scale_format_of_b_for_a(*arrays: Any, **options: Any) -> Any:
    """the scales of a are read in the format of those of b.

    Shows: scales of few bits in two formats. Hides: one format for both, and float32.
    """
    of_a, of_b = (NARROW_FORMATS.get(options.get(f"scale_dtype_{side}", "float32")) for side in "ab")
    given = list(arrays)
    scale = given[2] if len(given) > 2 else options.get("scale_a")
    if of_a is None or of_b is None or of_a is of_b or scale is None:
        return scaled_matmul(*arrays, **options)
    other = np.nan_to_num(of_b.decode(of_a.encode(plain(scale))))
    other = scale.constant(other) if hasattr(scale, "constant") else other
    if len(given) > 2:
        given[2] = other
        return scaled_matmul(*given, **options)
    return scaled_matmul(*given, **{**options, "scale_a": other})


@deviation("reference", "two_levels", "global_scale")
def global_scales_ignored(*arrays: Any, **options: Any) -> Any:
    """global scales are not used.

    Shows: a global scale. Hides: none, or 1.
    """
    return scaled_matmul(*arrays[:7], **{name: x for name, x in options.items() if name not in GLOBAL})
