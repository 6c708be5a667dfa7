"""What must hold of attention_with_weights."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, assert_within, assert_zero, exactly
from .helpers.attention_equation import find_attended_keys
from .helpers.attention_inputs import draw_hidden_key, draw_qkv, replace_key
from .helpers.conventions import assert_convention
from .inputs.draw import Draw, within_domain
from .operations.scaled_dot_product_attention import draw_inputs
from .trials.invariant import invariant

SOURCE = "the exercise on attention, which returns both"

OPTIONAL = ("mask", "is_causal", "scale")


@invariant("B", source=SOURCE)
def test_rows_sum_to_one(attention_with_weights: Operation, draw: Draw) -> None:
    """Each row of the weights sums to one, and each weight lies in [0, 1]."""
    q, k, v, keywords = draw_inputs(draw, *OPTIONAL)
    _, weights = attention_with_weights(q, k, v, **keywords)
    total: Any = np.sum(weights, axis=-1)  # type: ignore[call-overload]
    assert_equal(total, 1.0)
    assert_within(weights, 0.0, 1.0)


@invariant("B", source=SOURCE)
def test_average_the_values(attention_with_weights: Operation, draw: Draw) -> None:
    """weights @ v = out: they are the weights that the result was made with."""
    q, k, v, keywords = draw_inputs(draw, *OPTIONAL)
    out, weights = attention_with_weights(q, k, v, **keywords)
    averaged: Any = weights @ exactly(v)
    assert_equal(averaged, out)


@invariant("B", source=SOURCE, cost=1.5)
def test_is_attention(attention_with_weights: Operation, scaled_dot_product_attention: Operation, draw: Draw) -> None:
    """out is what the backend's own attention gives."""
    q, k, v, keywords = draw_inputs(draw, *(name for name in OPTIONAL if scaled_dot_product_attention.accepts(name)))
    out, _ = attention_with_weights(q, k, v, **keywords)
    assert_equal(out, scaled_dot_product_attention(q, k, v, **keywords))


@invariant("B", source=SOURCE)
def test_blind_to_values(attention_with_weights: Operation, draw: Draw) -> None:
    """The weights depend on queries and keys alone: other values do not change them."""
    q, k, v, keywords = draw_inputs(draw, *OPTIONAL)
    _, weights = attention_with_weights(q, k, v, **keywords)
    _, others = attention_with_weights(q, k, draw.held(v * draw.one_of((-2.0, 0.0, 64.0))), **keywords)
    assert_unmoved(others, weights)


@invariant("E", source=SOURCE, needs=("keyword:mask",))
def test_hidden_keys_have_no_weight(attention_with_weights: Operation, draw: Draw) -> None:
    """Where the mask or causality says False the weight is exactly 0."""
    q, k, v, keywords = draw_inputs(draw, "mask", "is_causal")
    _, weights = attention_with_weights(q, k, v, **keywords)
    seen = np.broadcast_to(find_attended_keys(q, k, keywords), weights.shape)
    assert_zero(weights, ~seen)


@invariant("B", source=SOURCE)
def test_nothing_flows_where_masked(attention_with_weights: Operation, draw: Draw) -> None:
    """Where the mask or causality says False, other finite keys and values, however large, change neither result."""
    (q, k, v), keywords, j, seen = draw_hidden_key(draw)
    before = attention_with_weights(q, k, v, **keywords)
    after = attention_with_weights(q, *replace_key(draw, q, k, v, j), **keywords)
    for one, other in zip(before, after, strict=True):
        assert_unmoved(other, one, ~seen)


@invariant("B", source=SOURCE)
def test_order_of_keys(attention_with_weights: Operation, draw: Draw) -> None:
    """Permuting keys and values together permutes the weights, and does not change out."""
    (q, k, v), _ = draw_qkv(draw)
    order = draw.rng.permutation(k.shape[-2])
    out, weights = attention_with_weights(q, k, v)
    permuted, moved = attention_with_weights(q, k[..., order, :], v[..., order, :])
    assert_equal(permuted, out)
    assert_equal(moved, weights[..., order])


@invariant("E", source=SOURCE)
def test_one_key(attention_with_weights: Operation, draw: Draw) -> None:
    """A single key has the weight 1."""
    (q, k, v), _ = draw_qkv(draw)
    within_domain(draw, m=1)
    _, weights = attention_with_weights(q, k[..., :1, :], v[..., :1, :])
    assert_identical(weights, np.ones(weights.shape))


# --- conventions ----------------------------------------------------------------------------------------------------


@invariant("B", needs=("keyword:is_causal",))
def test_causal_alignment(attention_with_weights: Operation, draw: Draw) -> None:
    """is_causal with n ≠ m hide what the backend states. If it states nothing, it is always the same: the last query is aligned
    with the last key (bottom-right), or the first with the first (top-left). Queries before the first key are fully masked
    rows.
    """
    assert_convention(attention_with_weights, draw, "causal_alignment")


@invariant("B", needs=("keyword:mask",))
def test_fully_masked_rows(attention_with_weights: Operation, draw: Draw) -> None:
    """A query that attends to no key gives what the backend states. If the backend states nothing, it always gives zeros, or
    always NaN. The other queries give what the equation says.
    """
    assert_convention(attention_with_weights, draw, "fully_masked_rows")
