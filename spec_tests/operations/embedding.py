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
    token_ids, weight = draw_token_ids(draw, batch, vocab), draw.array((vocab, d), TABLE_REGIMES)
    return (token_ids, weight), draw_padding(draw, token_ids, vocab)


def draw_padding(draw: Draw, token_ids: np.ndarray, vocab: int) -> dict[str, Any]:
    """Draw a padding_idx, or none: the first or the last row, also counted from the end, or one that a token has."""
    some = int(token_ids.flat[0]) if token_ids.size else 0
    return draw.keyword("padding_idx", (None, None, some, 0, vocab - 1, -1, some - vocab))


def draw_large_table(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a table with more rows than 16 bits count, for embedding.large_table."""
    vocab, d = draw.size("vocab", (70_001,)), draw.size("d", (1, 2, 3))
    token_ids = max(vocab - 1, 0) - draw.rng.permutation(min(vocab, 300))
    return (token_ids, draw.normal((vocab, d))), {}


declaration = Declaration(
    equation=embedding,
    arguments=arguments,
    core={"token_ids": 0},
    branches={"large table": draw_large_table},
    precision="exact",
    linear=("weight",),
)
