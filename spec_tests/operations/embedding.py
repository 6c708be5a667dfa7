"""How embedding is drawn."""

from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy.embedding import embedding
from spec_tests.inputs import regimes
from spec_tests.inputs.draw import MANY_ROWS, Draw
from spec_tests.specification.declaration import Declaration

TABLE_REGIMES = MappingProxyType({**regimes.POINTS, "normal": regimes.normal, "large": regimes.large})
TOKEN_BATCHES = (*MANY_ROWS, (257,), (1025,), (5, 129))


def draw_token_ids(draw: Draw, shape: tuple[int, ...], vocab: int) -> np.ndarray:
    """Draw any ids, the first and the last of the vocabulary, or a single id repeated."""
    kind = draw.one_of(("any", "any", "ends", "one"))
    if kind == "ends":
        return np.asarray(draw.rng.choice((0, vocab - 1), size=shape))
    token_ids = np.asarray(draw.rng.integers(0, vocab, shape))
    return np.full(shape, token_ids.flat[0]) if kind == "one" else token_ids


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    vocab, d = draw.dims(vocab=4097, d=1025)
    batch = draw.batch(TOKEN_BATCHES)
    return (draw_token_ids(draw, batch, vocab), draw.array((vocab, d), TABLE_REGIMES)), {}


declaration = Declaration(
    equation=embedding,
    arguments=arguments,
    core={"token_ids": 0},
    precision="exact",
    linear=("weight",),
)
