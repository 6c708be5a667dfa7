"""How indexer_scores is drawn."""

from typing import Any

import numpy as np

from reference_numpy.indexer_scores import indexer_scores
from spec_tests.inputs.draw import Draw
from spec_tests.operations.latent_attention import QUERIES, draw_rows
from spec_tests.specification.declaration import Declaration

HEADS = (4, 2, 1, 3, 8)
WIDTHS = (5, 2, 3, 8, 16)
BATCHES = ((), (2,), (1,), (3,), (2, 2))
ACTIVATIONS = ("relu", "none")


def draw_arrays(draw: Draw) -> tuple[np.ndarray, ...]:
    """Draw queries, keys, and weights of either sign, with n ≤ m."""
    n = draw.size("n", QUERIES)
    m, h, d = draw_rows(draw, n), draw.size("h", HEADS), draw.size("d", WIDTHS)
    batch = draw.batch(BATCHES)
    return draw.vectors((*batch, n, h, d)), draw.vectors((*batch, m, d)), draw.normal((*batch, n, h))


def draw_options(draw: Draw) -> dict[str, Any]:
    return draw.keyword("is_causal", (True, True, False)) | draw.keyword("activation", ACTIVATIONS)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_arrays(draw), draw_options(draw)


declaration = Declaration(
    equation=indexer_scores,
    arguments=arguments,
    core={"q": 3, "k": 2, "weights": 2},
    precision="fused",
    results={"": "wider"},
    choices={"activation": ACTIVATIONS},
    short=True,
)
