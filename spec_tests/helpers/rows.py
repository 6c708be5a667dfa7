"""Rows, as operations that work row by row are tried on them."""

from __future__ import annotations

import numpy as np

from ..inputs.draw import MANY_ROWS, Draw


def draw_row_shape(draw: Draw, **ceiling: int) -> tuple[int, ...]:
    """Draw a batch and the size of a row: `draw_row_shape(draw, d=300)` for the dimension d, at most 300."""
    (size,) = draw.dims(**ceiling)
    return (*draw.batch(MANY_ROWS), size)


def one_hot(indices: np.ndarray, size: int) -> np.ndarray:
    """Return a row of zeros for each index, with a one at its place. No matrix of `size` rows is made."""
    return (np.arange(size) == indices[..., None]).astype(np.float64)


def draw_row_and_exact_offset(
    draw: Draw, shape: tuple[int, ...], exponents: tuple[int, ...] = (3, 7, 11)
) -> tuple[np.ndarray, float]:
    """Draw x and c = ±2^e such that the dtype holds every x + c: x are multiples of the spacing of its numbers at c."""
    f = draw.format
    exponent = draw.one_of(tuple(e for e in exponents if e < f.emax))
    offset = 2.0**exponent
    step = max(2.0**-6, 2.0 ** (exponent - f.precision + 1))
    x = np.rint(draw.normal(shape, max(3.0, 3 * step)) / step) * step
    return np.clip(x, step - offset, offset - step), draw.one_of((offset, -offset))
