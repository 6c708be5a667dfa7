"""What must hold of grouped_query_attention where some queries do not see some keys, and where scores are biased."""

import numpy as np

from reference_numpy.causal_mask import causal_mask

from .calls.operation import Operation
from .helpers.assertions import assert_equal
from .helpers.attention_assertions import (
    assert_mask_and_causality,
    assert_no_influence,
)
from .helpers.attention_equation import group_size, repeat_shared_heads
from .helpers.attention_inputs import draw_grouped_qkv, draw_hidden_key, replace_key, spoil_key
from .helpers.conventions import assert_convention
from .inputs.draw import Draw, within_domain
from .trials.invariant import invariant

SOURCE = "the book's exercise 8"


@invariant("B", source=SOURCE)
def test_nothing_flows_where_masked(grouped_query_attention: Operation, draw: Draw) -> None:
    """Where the mask or causality says False, other finite keys and values, however large, do not change the result."""
    (q, k, v), keywords, j, seen = draw_hidden_key(draw, grouped=True)
    assert_no_influence(grouped_query_attention, q, (k, v), replace_key(draw, q, k, v, j), keywords, ~seen)


@invariant("B", source=SOURCE, needs=("keyword:mask",))
def test_mask_of_heads(grouped_query_attention: Operation, draw: Draw) -> None:
    """A mask belongs to the query heads, not to the shared ones: each head's result is what it gives alone under its own."""
    (q, k, v), b = draw_grouped_qkv(draw, query_heads=2)
    within_domain(draw, h=1, h_kv=1)
    n, m = q.shape[-2], k.shape[-2]
    mask = _draw_mask_of_each_head(draw, b, n, m)
    i = draw.integer(0, q.shape[-3] - 1)
    own, shared = (slice(x, x + 1) for x in (i, i // group_size(q, k)))
    y = grouped_query_attention(q, k, v, mask=mask)[..., own, :, :]
    parts = (q[..., own, :, :], k[..., shared, :, :], v[..., shared, :, :])
    assert_equal(y, grouped_query_attention(*parts, mask=mask[..., own, :, :]))


def _draw_mask_of_each_head(draw: Draw, heads: tuple[int, ...], n: int, m: int) -> np.ndarray:
    """Draw a mask with these dimensions in front. It leaves one key visible to all."""
    mask = np.asarray(draw.rng.random((*heads, n, m)) < 0.5)
    mask[..., draw.integer(0, m - 1)] = True
    return mask


@invariant("B", source=SOURCE, needs=("keyword:mask",))
def test_mask_broadcasts(grouped_query_attention: Operation, draw: Draw) -> None:
    """A mask without heads or queries, or with a dimension of one for them, holds for all of them: as if repeated."""
    (q, k, v), b = draw_grouped_qkv(draw, query_heads=2)
    n, m = q.shape[-2], k.shape[-2]
    mask = _draw_mask_of_each_head(draw, draw.shape.one_of(((*b[:-1], 1), (), (1,))), n, m)
    mask = (mask, mask[..., :1, :], mask.reshape(-1, m)[0])[draw.one_of((0, 1, 2, 2))]
    repeated_mask = np.broadcast_to(mask, (*b, n, m)).copy()
    assert_equal(grouped_query_attention(q, k, v, mask=mask), grouped_query_attention(q, k, v, mask=repeated_mask))


@invariant("B", source=SOURCE, needs=("keyword:is_causal", "keyword:mask"))
def test_causal(grouped_query_attention: Operation, draw: Draw) -> None:
    """is_causal is the mask j ≤ i: the first query sees the first key alone."""
    (q, k, v), _ = draw_grouped_qkv(draw, square=True)
    y = grouped_query_attention(q, k, v, is_causal=True)
    assert_equal(y, grouped_query_attention(q, k, v, mask=causal_mask(n=q.shape[-2])))
    assert_equal(y[..., 0, :], repeat_shared_heads(q, v)[0][..., 0, :])


@invariant("B", source=SOURCE, needs=("keyword:is_causal", "keyword:mask"))
def test_mask_and_causal(grouped_query_attention: Operation, draw: Draw) -> None:
    """mask and is_causal together: a key must pass both."""
    arrays, batch = draw_grouped_qkv(draw, square=True)
    assert_mask_and_causality(grouped_query_attention, draw, arrays, batch)


@invariant("B", needs=("keyword:is_causal",), each_dtype=True)
def test_causal_alignment(grouped_query_attention: Operation, draw: Draw) -> None:
    """is_causal with n ≠ m hides what the backend states. If it states nothing, it is always the same: the last query is
    aligned with the last key (bottom-right), or the first with the first (top-left). Queries before the first key are fully
    masked rows.
    """
    assert_convention(grouped_query_attention, draw, "causal_alignment")


@invariant("B", needs=("keyword:mask",))
def test_fully_masked_rows(grouped_query_attention: Operation, draw: Draw) -> None:
    """A query that attends to no key gives what the backend states. If the backend states nothing, it always gives zeros, or
    always NaN. The other queries give what the equation says.
    """
    assert_convention(grouped_query_attention, draw, "fully_masked_rows")


@invariant("B", level="quarantine", cost=2)
def test_quarantine(grouped_query_attention: Operation, draw: Draw) -> None:
    """NaN and infinities in keys and values where the mask or causality says False never reach the result."""
    (q, k, v), keywords, j, seen = draw_hidden_key(draw, grouped=True)
    assert_no_influence(grouped_query_attention, q, (k, v), spoil_key(draw, k, v, j), keywords, ~seen)
