"""How swizzle_scales is drawn."""

from typing import Any

import numpy as np

from reference_numpy.swizzle_scales import swizzle_scales
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

ROWS = (1, 31, 32, 33, 64, 96, 127, 128, 129, 160, 255, 256, 257, 300)
COLUMNS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 13)


def draw_sides(draw: Draw) -> tuple[int, int]:
    """Draw the sizes of a matrix of scales, mostly at the edges of tiles."""
    return draw.size("M", ROWS), draw.size("C", COLUMNS)


def draw_codes(draw: Draw, shape: tuple[int, int]) -> np.ndarray:
    """Draw codes, of which none is 0."""
    return np.asarray(draw.rng.integers(1, 256, shape))


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (draw_codes(draw, draw_sides(draw)),), {}


declaration = Declaration(
    equation=swizzle_scales,
    arguments=arguments,
    core={"scales": 2},
    precision="exact",
    dtype="uint8",
    integer_dtypes={"scales": "uint8"},
    unbatched=True,
    short=True,
)
