"""What must hold of indexer_scores."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_true, assert_unmoved
from .inputs.draw import Draw, within_domain
from .operations.indexer_scores import arguments, draw_arrays, draw_options
from .trials.invariant import invariant

SOURCE = "DeepSeek-V3.2, eq. 1"


@invariant("B", source=SOURCE)
def test_sum_over_heads(indexer_scores: Operation, draw: Draw) -> None:
    """Scores are the sum of those of one head more and of the others, each with its own weights."""
    q, k, weights = draw_arrays(draw)
    within_domain(draw, h=1)
    keywords = draw_options(draw) | draw.only("is_causal", False)
    h = q.shape[-2]
    parts = (indexer_scores(q[..., i : i + 1, :], k, weights[..., i : i + 1], **keywords) for i in range(h))
    assert_equal(indexer_scores(q, k, weights, **keywords), sum(parts))


@invariant("B", source=SOURCE)
def test_permuted_heads(indexer_scores: Operation, draw: Draw) -> None:
    """Permuting the heads together with their weights changes nothing."""
    (q, k, weights), keywords = arguments(draw)
    order = draw.rng.permutation(q.shape[-2])
    assert_equal(indexer_scores(q[..., order, :], k, weights[..., order], **keywords), indexer_scores(q, k, weights, **keywords))


@invariant("B", source=SOURCE, needs=("keyword:activation",))
def test_both_signs(indexer_scores: Operation, draw: Draw) -> None:
    """The scores of q less those of −q, with the maximum, are those of q without it: max(p, 0) − max(−p, 0) = p."""
    q, k, weights = draw_arrays(draw)
    keywords = draw.only("is_causal", False)
    relu, none = (draw.only("activation", name) for name in ("relu", "none"))
    difference: Any = indexer_scores(q, k, weights, **keywords, **relu) - indexer_scores(-q, k, weights, **keywords, **relu)
    assert_equal(difference, indexer_scores(q, k, weights, **keywords, **none))


@invariant("E", source=SOURCE)
def test_not_negative(indexer_scores: Operation, draw: Draw) -> None:
    """With the maximum, and weights ≥ 0, no score of a visible key is negative."""
    q, k, weights = draw_arrays(draw)
    scores = indexer_scores(q, k, np.abs(weights), **draw.only("activation", "relu"))
    assert_true(bool(np.all((scores.value >= 0) | np.isneginf(scores.value))), "a score of a visible key is negative")


@invariant("E", source=SOURCE)
def test_hidden_keys(indexer_scores: Operation, draw: Draw) -> None:
    """A key behind the query's position has the score −∞, and each other one a finite score; without causality all have."""
    q, k, weights = draw_arrays(draw)
    q, k = draw.grid(q.shape), draw.grid(k.shape)
    keywords = draw_options(draw)
    n, m = q.shape[-3], k.shape[-2]
    seen = (np.arange(m) <= np.arange(n)[:, None] + m - n) | (not keywords.get("is_causal", True))
    scores = indexer_scores(q, k, weights, **keywords).value
    assert_identical(np.isneginf(scores).astype(float), np.broadcast_to(~seen, scores.shape).astype(float))


@invariant("B", source=SOURCE)
def test_keys_are_separate(indexer_scores: Operation, draw: Draw) -> None:
    """The score of a key does not depend on the other keys."""
    (q, k, weights), keywords = arguments(draw)
    j = draw.integer(0, k.shape[-2] - 1)
    other = np.where(np.arange(k.shape[-2])[:, None] == j, k, draw.vectors(k.shape))
    before = indexer_scores(q, k, weights, **keywords)
    assert_unmoved(indexer_scores(q, other, weights, **keywords), before, (..., j))
