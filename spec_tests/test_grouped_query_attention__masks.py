"""What must hold of grouped_query_attention where some queries do not see some keys, and where scores are biased."""

import numpy as np

from reference_numpy.causal_mask import causal_mask

from .calls.operation import Operation
from .helpers.assertions import assert_equal
from .helpers.attention import assert_aligned, assert_blind, assert_hidden, full, replaced_key
from .inputs.draw import Draw, within_domain
from .operations.scaled_dot_product_attention import holding_a_key
from .test_grouped_query_attention import arrays, group, hiding, repeated
from .trials.invariant import invariant

SOURCE = "the book's exercise 8"


@invariant("B", source=SOURCE)
def test_nothing_flows_where_masked(grouped_query_attention: Operation, draw: Draw) -> None:
    """Other finite keys and values, however large, where the mask or causality says False leave the result."""
    (q, k, v), keywords, j, seen = hiding(draw)
    assert_hidden(grouped_query_attention, q, (k, v), replaced_key(draw, q, k, v, j), keywords, ~seen)


@invariant("B", source=SOURCE, needs=("keyword:mask",))
def test_mask_of_heads(grouped_query_attention: Operation, draw: Draw) -> None:
    """A mask belongs to the query heads, not to the shared ones: each head's result is what it gives alone under its own."""
    (q, k, v), b = arrays(draw, at_least=2)
    within_domain(draw, h=1, h_kv=1)
    n, m = q.shape[-2], k.shape[-2]
    mask = _mask_of_each(draw, b, n, m)
    i = draw.integer(0, q.shape[-3] - 1)
    own, shared = (slice(x, x + 1) for x in (i, i // group(q, k)))
    y = grouped_query_attention(q, k, v, mask=mask)[..., own, :, :]
    parts = (q[..., own, :, :], k[..., shared, :, :], v[..., shared, :, :])
    assert_equal(y, grouped_query_attention(*parts, mask=mask[..., own, :, :]))


def _mask_of_each(draw: Draw, heads: tuple[int, ...], n: int, m: int) -> np.ndarray:
    mask = np.asarray(draw.rng.random((*heads, n, m)) < 0.5)
    mask[..., draw.integer(0, m - 1)] = True
    return mask


@invariant("B", source=SOURCE, needs=("keyword:mask",))
def test_mask_broadcasts(grouped_query_attention: Operation, draw: Draw) -> None:
    """A mask without heads or queries, or with a dimension of one for them, holds for all of them: as if repeated."""
    (q, k, v), b = arrays(draw, at_least=2)
    n, m = q.shape[-2], k.shape[-2]
    mask = _mask_of_each(draw, draw.shape.one_of(((*b[:-1], 1), (), (1,))), n, m)
    mask = (mask, mask[..., :1, :], mask.reshape(-1, m)[0])[draw.one_of((0, 1, 2, 2))]
    repeated_mask = np.broadcast_to(mask, (*b, n, m)).copy()
    assert_equal(grouped_query_attention(q, k, v, mask=mask), grouped_query_attention(q, k, v, mask=repeated_mask))


@invariant("B", source=SOURCE, needs=("keyword:is_causal", "keyword:mask"))
def test_causal(grouped_query_attention: Operation, draw: Draw) -> None:
    """is_causal is the mask j ≤ i: the first query sees the first key alone."""
    (q, k, v), _ = arrays(draw, square=True)
    y = grouped_query_attention(q, k, v, is_causal=True)
    assert_equal(y, grouped_query_attention(q, k, v, mask=causal_mask(n=q.shape[-2])))
    assert_equal(y[..., 0, :], repeated(q, v)[0][..., 0, :])


@invariant("B", source=SOURCE, needs=("keyword:is_causal", "keyword:mask"))
def test_mask_and_causal(grouped_query_attention: Operation, draw: Draw) -> None:
    """mask and is_causal together: a key must pass both."""
    (q, k, v), b = arrays(draw, square=True)
    n = q.shape[-2]
    mask = holding_a_key(draw, draw.mask(b, n, n))
    both = grouped_query_attention(q, k, v, mask=mask, is_causal=True)
    assert_equal(both, grouped_query_attention(q, k, v, mask=mask & causal_mask(n=n)))


@invariant("B", needs=("convention:causal_alignment", "keyword:is_causal"))
def test_causal_alignment(grouped_query_attention: Operation, draw: Draw) -> None:
    """is_causal with n ≠ m hides what the backend states: the last query is level with the last key (bottom-right), or the
    first with the first (top-left). Queries before the first key give what the backend states of fully masked rows."""
    (q, k, v), _ = arrays(draw)
    assert_aligned(grouped_query_attention, draw, q, k, v)


@invariant("E", needs=("convention:fully_masked_rows", "keyword:mask"))
def test_fully_masked_rows(grouped_query_attention: Operation, draw: Draw) -> None:
    """A query that attends to no key gives exactly what the backend states, zeros or NaN, and the others what they give
    beside any other query."""
    (q, k, v), b = arrays(draw)
    n, m = q.shape[-2], k.shape[-2]
    mask = full(draw.mask(b, n, m), n, m)
    blind = np.asarray(draw.rng.random(mask.shape[:-1]) < draw.one_of((0.3, 1.0, 0.7)))
    y = grouped_query_attention(q, k, v, mask=mask & ~blind[..., None]).value
    seeing = grouped_query_attention(q, k, v, mask=mask)
    blind = np.broadcast_to(blind, y.shape[:-1])
    assert_blind(grouped_query_attention, y[blind])
    assert_equal(y[~blind], seeing[~blind])


@invariant("B", level="quarantine", cost=2)
def test_quarantine(grouped_query_attention: Operation, draw: Draw) -> None:
    """NaN and infinities in keys and values where the mask or causality says False never reach the result."""
    (q, k, v), keywords, j, seen = hiding(draw)
    spoiled_k, spoiled_v = k.copy(), v.copy()
    which = draw.one_of((("v",), ("k",), ("k", "v")))
    for name, x in (("k", spoiled_k), ("v", spoiled_v)):
        if name in which:
            x[..., j, :] = draw.one_of((np.nan, np.inf, -np.inf))
    assert_hidden(grouped_query_attention, q, (k, v), (spoiled_k, spoiled_v), keywords, ~seen)
