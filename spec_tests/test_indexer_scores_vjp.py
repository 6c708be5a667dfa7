"""What must hold of the gradients of indexer_scores."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_all_zero
from .inputs.draw import Draw
from .operations.indexer_scores import draw_arrays
from .trials.invariant import invariant


@invariant("E", source="Differentiation of DeepSeek-V3.2, eq. 1")
def test_hidden_keys(indexer_scores_vjp: Operation, draw: Draw) -> None:
    """Where the first query alone has cotangents, keys behind its position get exactly 0."""
    q, k, weights = draw_arrays(draw)
    n, m = q.shape[-3], k.shape[-2]
    c = np.where(np.arange(n)[:, None] == 0, draw.vectors((*k.shape[:-2], n, m)), 0.0)
    assert_all_zero(indexer_scores_vjp(c, q, k, weights, wrt="k"), (..., slice(m - n + 1, None), slice(None)))
