"""How unpack_int4 is drawn."""

from typing import Any

import numpy as np

from reference_numpy.unpack_int4 import unpack_int4
from spec_tests.inputs.draw import MANY_ROWS, Draw
from spec_tests.specification.declaration import Declaration

ORDERS = ("sequential", "awq")


def draw_words(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    """Draw words: any, or those whose numbers are 0, 7, 8 and 15, also in the highest four bits."""
    nibbles = (
        draw.rng.integers(0, 16, (*shape, 8)) if draw.one_of((True, True, False)) else draw.rng.choice((0, 7, 8, 15), (*shape, 8))
    )
    return join_nibbles(nibbles)


def join_nibbles(nibbles: np.ndarray) -> np.ndarray:
    """Return the words of int32 whose bits are these numbers from 0 to 15, the first in the lowest four."""
    words = np.sum(nibbles.astype(np.int64) << (4 * np.arange(8)), axis=-1, dtype=np.int64)
    return np.where(words >= 1 << 31, words - (1 << 32), words)


def draw_keywords(draw: Draw) -> dict[str, Any]:
    return {**draw.keyword("order", ORDERS), **draw.keyword("signed", (False, True))}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (c,) = draw.dims(C=300)
    return (draw_words(draw, (*draw.batch(MANY_ROWS), c)),), draw_keywords(draw)


declaration = Declaration(
    equation=unpack_int4,
    arguments=arguments,
    core={"packed": 1},
    precision="exact",
    dtype="int8",
    integer_dtypes={"packed": "int32"},
    choices={"order": ORDERS},
)
