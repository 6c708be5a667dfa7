"""What the laws of activations share: the numbers that they are tried on, and that each element counts for itself alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bounds.error_model import saturation
from ..calls.operation import Operation
from ..inputs.draw import Draw
from ..specification.formats import Arithmetic
from .assertions import assert_unmoved
from .rows import draw_row_shape


def draw_points(draw: Draw) -> np.ndarray:
    """Draw rows of every regime of numbers."""
    return draw.points(draw_row_shape(draw, d=300))


def draw_points_and_zeros(draw: Draw) -> np.ndarray:
    """Draw rows, half of their elements 0."""
    return np.where(draw.rng.random(size := draw_row_shape(draw, d=300)) < 0.5, 0.0, draw.points(size))


def draw_points_with_vanishing_exponential(draw: Draw) -> np.ndarray:
    """Draw positive numbers, up to the dtype's largest, at which e^−x is negligible beside 1, even times x."""
    lowest = np.log2(2 * saturation(Arithmetic.of(draw.operation.dtype).compute))
    return draw.held(2.0 ** draw.rng.uniform(lowest, np.log2(draw.format.max), draw_row_shape(draw, d=300)))


def assert_elementwise(operation: Operation, draw: Draw, x: np.ndarray, **keywords: Any) -> None:
    """Changing one element, to the largest numbers too, changes its own result alone."""
    i = draw.integer(0, x.size - 1)
    changed = x.copy()
    changed.flat[i] = draw.one_of((-3.0, 5.0, 1000.0, 0.9 * draw.format.max, np.inf))
    others = (np.arange(x.size) != i).reshape(x.shape)
    assert_unmoved(operation(draw.held(changed), **keywords), operation(x, **keywords), others)
