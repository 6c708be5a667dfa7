"""What the gradients of rms_norm and layer_norm are tried on."""

from __future__ import annotations

import numpy as np

from ..inputs.draw import Draw
from .rows import draw_row_shape


def draw_cotangent_rows_and_gain(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw a cotangent, ordinary rows and a gain."""
    shape = draw_row_shape(draw, d=300)
    return draw.vectors(shape), draw.normal(shape, draw.one_of((1.0, 4.0, 0.25))), draw.gain(shape[-1])
