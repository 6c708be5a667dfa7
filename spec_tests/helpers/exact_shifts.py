"""Offsets that can be added to a row without rounding, so that a law of shifts is about the operation alone."""

from __future__ import annotations

import numpy as np

from ..inputs.draw import Draw


def row_and_offset(draw: Draw, shape: tuple[int, ...], exponents: tuple[int, ...] = (3, 7, 11)) -> tuple[np.ndarray, float]:
    """x and c = ±2^e such that the dtype holds every x + c: x are multiples of the spacing of its numbers at c."""
    f = draw.format
    exponent = draw.one_of(tuple(e for e in exponents if e < f.emax))
    offset = 2.0**exponent
    step = max(2.0**-6, 2.0 ** (exponent - f.precision + 1))
    x = np.rint(draw.normal(shape, max(3.0, 3 * step)) / step) * step
    return np.clip(x, step - offset, offset - step), draw.one_of((offset, -offset))
