"""What goes wrong with swizzle_scales."""

from typing import Any

import numpy as np

from reference_numpy.swizzle_scales import swizzle_scales

from . import deviation

GARBAGE = 127  # what lay in memory: as float8_e8m0fnu, 1
MODULAR = ("https://github.com/modular/modular/issues/6600",)
PADDING = ("https://github.com/vllm-project/vllm/issues/45741",)
ALL_ZERO = ("https://github.com/flashinfer-ai/flashinfer/issues/3398",)
LAYOUT = ("https://github.com/flashinfer-ai/flashinfer/issues/2147",)


def _pad(scales: Any, value: int = 0) -> Any:
    """Return the scales in whole tiles, as an array (rows of tiles, 4, 32, columns of tiles, 4)."""
    scales = np.asarray(scales)
    m, c = scales.shape
    whole = np.full((-(-m // 128) * 128, -(-c // 4) * 4), value, dtype=scales.dtype)
    whole[:m, :c] = scales
    return whole.reshape(-(-m // 128), 4, 32, -(-c // 4), 4)


@deviation("reference", "filled_with_zero", "each_scale_once", seen=PADDING)
def filling_not_written(scales: Any) -> Any:
    """what fills the last tiles is not written, and is what lay in memory.

    Shows: sizes that are no multiples of 128 and 4. Hides: others.
    """
    return _pad(scales, GARBAGE).transpose(0, 3, 2, 1, 4).reshape(-1)


@deviation("reference", "filled_with_zero", "each_scale_once")
def filled_with_the_last_scale(scales: Any) -> Any:
    """what fills the last tiles is the last row and the last column.

    Shows: sizes that are no multiples of 128 and 4. Hides: others.
    """
    m, c = np.shape(scales)
    return swizzle_scales(np.pad(np.asarray(scales), ((0, -m % 128), (0, -c % 4)), mode="edge"))


@deviation("reference", "place_of_each_scale", seen=MODULAR)
def swizzled_twice(scales: Any) -> Any:
    """the scales are swizzled a second time.

    Shows: any scales but equal ones. Hides: equal ones.
    """
    once = swizzle_scales(scales)
    rows = -(-np.shape(scales)[0] // 128) * 128
    return swizzle_scales(once.reshape(rows, -1))


@deviation("reference", "place_of_each_scale")
def not_swizzled(scales: Any) -> Any:
    """tiles are stored row by row.

    Shows: more than one row. Hides: a single one.
    """
    return _pad(scales).transpose(0, 3, 1, 2, 4).reshape(-1)


@deviation("reference", "place_of_each_scale")
def tiles_column_by_column(scales: Any) -> Any:
    """tiles follow column by column.

    Shows: several tiles in both directions. Hides: one row or one column of tiles.
    """
    return _pad(scales).transpose(3, 0, 2, 1, 4).reshape(-1)


@deviation("reference", "place_of_each_scale")
def columns_before_groups(scales: Any) -> Any:
    """inside of 16 entries, the group of 32 rows counts fastest: 16 (r mod 32) + 4 c + r div 32.

    Shows: more than 32 rows, or several columns. Hides: a single scale.
    """
    return _pad(scales).transpose(0, 3, 2, 4, 1).reshape(-1)


@deviation("reference", "place_of_each_scale")
def groups_of_four_rows(scales: Any) -> Any:
    """div and mod are exchanged: 16 (r div 4) + 4 (r mod 4) + c.

    Shows: more than one row. Hides: a single one.
    """
    m, c = np.shape(scales)
    whole = _pad(scales).reshape(-(-m // 128), 32, 4, -(-c // 4), 4)
    return whole.transpose(0, 3, 1, 2, 4).reshape(-1)


@deviation("reference", "each_scale_once", seen=ALL_ZERO)
def zero_for_some_rows(scales: Any) -> Any:
    """all scales are zero where the number of rows is no multiple of 32.

    Shows: such numbers of rows. Hides: others.
    """
    y = swizzle_scales(scales)
    return y if np.shape(scales)[0] % 32 == 0 else np.zeros_like(y)


@deviation("reference", "place_of_each_scale", "tile_by_tile", "more_rows", seen=LAYOUT)
def read_column_by_column(scales: Any) -> Any:
    """the scales are read as if they were stored column by column.

    Shows: several rows and columns. Hides: a single row or column.
    """
    scales = np.asarray(scales)
    return swizzle_scales(scales.reshape(-1).reshape(scales.shape[::-1]).T)


@deviation("reference", "each_scale_once", "tile_by_tile")
def last_columns_lost(scales: Any) -> Any:
    """only whole tiles of four columns are copied, where there is one.

    Shows: more than four columns, no multiple of four. Hides: others.
    """
    kept = np.asarray(scales).copy()
    c = kept.shape[1]
    if c > 4:
        kept[:, c - c % 4 :] = 0
    return swizzle_scales(kept)
