"""What must hold of merge_attention_states."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, assert_within, exactly
from .helpers.attention_states import assert_states_equal, attend_exactly, draw_cut
from .helpers.conventions import assert_convention
from .helpers.lse_base import state_from_nats, state_in_nats, to_nats
from .inputs.draw import Draw
from .operations.merge_attention_states import draw_states
from .operations.scaled_dot_product_attention import draw_batch
from .trials.invariant import invariant

SOURCE = "FlashInfer's merge_state; Ye et al. 2025, section 2.2"


def draw_attention(draw: Draw, keys: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, ...]]:
    """Draw one head's q, k and v, with at least so many keys, and the batch."""
    (d_v,), (n, d_k) = draw.dims(d_v=65), draw.dims(n=9, d_k=9)
    m = draw.shape.one_of((keys, keys + 1, 7, 33, 130))
    b = draw_batch(draw, n * m)
    return draw.vectors((*b, 1, n, d_k)), draw.vectors((*b, 1, m, d_k)), draw.vectors((*b, 1, m, d_v)), b


@invariant("B", source=SOURCE)
def test_parts_make_the_whole(merge_attention_states: Operation, draw: Draw) -> None:
    """Attention to some keys, merged with attention to the others, is attention to all of them, for every cut into two."""
    q, k, v, _ = draw_attention(draw)
    first, *rest = draw_cut(draw, k.shape[-2], least=2, most=2)
    parts = [attend_exactly(q, k[..., keys, :], v[..., keys, :]) for keys in (first, np.concatenate(rest))]
    merged = merge_attention_states(*(x for part in parts for x in state_from_nats(merge_attention_states, part)))
    assert_states_equal(state_in_nats(merge_attention_states, merged), attend_exactly(q, k, v))


@invariant("B", source=SOURCE, cost=2)
def test_one_part_after_the_other(merge_attention_states: Operation, draw: Draw) -> None:
    """Many parts, merged one after the other in any order, make the whole; that only one part has a sink changes nothing."""
    q, k, v, _ = draw_attention(draw, keys=3)
    keys = draw_cut(draw, k.shape[-2], least=3, most=5)
    sinks = draw.held(draw.rng.standard_normal(1) * 3) if draw.one_of((False, True)) else None
    last = draw.integer(0, len(keys) - 1)
    states = (
        attend_exactly(q, k[..., part, :], v[..., part, :], sinks=sinks if i == last else None) for i, part in enumerate(keys)
    )
    merged, *others = (state_from_nats(merge_attention_states, state) for state in states)
    for state in others:
        merged = tuple(merge_attention_states(*merged, *state))  # type: ignore[assignment]
    assert_states_equal(state_in_nats(merge_attention_states, merged), attend_exactly(q, k, v, sinks=sinks))


@invariant("B", source=SOURCE)
def test_commutative(merge_attention_states: Operation, draw: Draw) -> None:
    """The order of the two parts does not matter."""
    out_a, lse_a, out_b, lse_b = draw_states(draw)
    exchanged = merge_attention_states(out_b, lse_b, out_a, lse_a)
    assert_states_equal(merge_attention_states(out_a, lse_a, out_b, lse_b), exchanged)


@invariant("B", source=SOURCE)
def test_associative(merge_attention_states: Operation, draw: Draw) -> None:
    """Which two of three parts are merged first does not matter."""
    out_a, lse_a, out_b, lse_b = draw_states(draw)
    out_c, lse_c = draw.vectors(out_a.shape), draw.held(lse_b + draw.rng.uniform(-5, 5, lse_b.shape))
    left = merge_attention_states(*merge_attention_states(out_a, lse_a, out_b, lse_b), out_c, lse_c)
    right = merge_attention_states(out_a, lse_a, *merge_attention_states(out_b, lse_b, out_c, lse_c))
    assert_states_equal(left, right)


@invariant("E", source=SOURCE)
def test_a_part_without_keys(merge_attention_states: Operation, draw: Draw) -> None:
    """A part with lse = −∞ leaves the other as it is, whatever its own out holds: zeros, old numbers, NaN or an infinity."""
    out_a, lse_a, out_b, _ = draw_states(draw)
    nothing = np.full(lse_a.shape, -np.inf)
    rubbish = np.full(out_b.shape, draw.one_of((0.0, np.nan, np.inf, -np.inf, draw.format.max, 1.0)))
    states = (out_a, lse_a, rubbish, nothing)
    merged = merge_attention_states(*(states if draw.one_of((True, False)) else (*states[2:], *states[:2])))
    for result, own in zip(merged, (out_a, lse_a), strict=True):
        assert_identical(result, own)


@invariant("E", source=SOURCE)
def test_neither_has_keys(merge_attention_states: Operation, draw: Draw) -> None:
    """Two parts with lse = −∞ have lse = −∞; the rows beside them are what they are alone."""
    out_a, lse_a, out_b, lse_b = draw_states(draw)
    plain = merge_attention_states(out_a, lse_a, out_b, lse_b)
    neither = np.asarray(draw.rng.random(lse_a.shape) < draw.one_of((0.5, 1.0)))
    out, lse = merge_attention_states(out_a, np.where(neither, -np.inf, lse_a), out_b, np.where(neither, -np.inf, lse_b))
    assert_identical(lse.value[neither], np.full(int(np.sum(neither)), -np.inf))
    for one, other in zip((out, lse), plain, strict=True):
        assert_unmoved(one, other, ~neither)


@invariant("B", source=SOURCE)
def test_equal_parts(merge_attention_states: Operation, draw: Draw) -> None:
    """Two parts of the same lse weigh the same: out is their mean, and lse is log 2 more."""
    out_a, lse_a, out_b, _ = draw_states(draw)
    out, lse = merge_attention_states(out_a, lse_a, out_b, lse_a)
    mean: Any = (exactly(out_a) + exactly(out_b)) / 2
    assert_equal(out, mean)
    assert_equal(to_nats(merge_attention_states, lse), to_nats(merge_attention_states, exactly(lse_a)) + float(np.log(2.0)))


@invariant("B", source=SOURCE)
def test_shift(merge_attention_states: Operation, draw: Draw) -> None:
    """A constant added to both lse is added to the merged one, and does not change out."""
    out_a, _, out_b, _ = draw_states(draw)
    shape = out_a.shape[:-1]
    lse_a, lse_b, c = draw.grid(shape), draw.grid(shape), draw.grid(shape, 16.0, 6)
    out, lse = merge_attention_states(out_a, lse_a, out_b, lse_b)
    shifted, higher = merge_attention_states(out_a, lse_a + c, out_b, lse_b + c)
    assert_equal(shifted, out)
    assert_equal(higher, lse + exactly(c))


@invariant("B", source=SOURCE)
def test_between_the_parts(merge_attention_states: Operation, draw: Draw) -> None:
    """out lies between the two parts, and lse between the larger one and log 2 above it."""
    out_a, lse_a, out_b, lse_b = draw_states(draw)
    out, lse = merge_attention_states(out_a, lse_a, out_b, lse_b)
    top = to_nats(merge_attention_states, exactly(np.maximum(lse_a, lse_b)))
    assert_within(out, np.minimum(out_a, out_b), np.maximum(out_a, out_b))
    assert_within(to_nats(merge_attention_states, lse), top, top + float(np.log(2.0)))


@invariant("B", source=SOURCE)
def test_weights(merge_attention_states: Operation, draw: Draw) -> None:
    """Of the outs 1 and 0 the merged one is the first part's share, σ(lse_a − lse_b) in nats."""
    out_a, lse_a, _, lse_b = draw_states(draw)
    out, _ = merge_attention_states(np.ones(out_a.shape), lse_a, np.zeros(out_a.shape), lse_b)
    distance: Any = exactly(lse_a[..., None]) - exactly(lse_b[..., None])
    share = to_nats(merge_attention_states, distance).logistic()
    assert_equal(out, np.broadcast_to(share, out_a.shape))


@invariant("B", source=SOURCE, cost=1.5)
def test_splits_of_attention(merge_attention_states: Operation, attention_with_lse: Operation, draw: Draw) -> None:
    """The backend's own attention to two sets of keys, merged, is its attention to both."""
    q, k, v, _ = draw_attention(draw)
    first, *rest = draw_cut(draw, k.shape[-2], least=2, most=2)
    parts = [attention_with_lse(q, k[..., keys, :], v[..., keys, :]) for keys in (first, np.concatenate(rest))]
    *halves, whole = (state_in_nats(attention_with_lse, part) for part in (*parts, attention_with_lse(q, k, v)))
    merged = merge_attention_states(*(x for part in halves for x in state_from_nats(merge_attention_states, part)))
    assert_states_equal(state_in_nats(merge_attention_states, merged), whole)


@invariant("B", source=SOURCE)
def test_fully_masked_rows(merge_attention_states: Operation, draw: Draw) -> None:
    """Where neither part saw a key, lse is −∞, and out is what the backend states. If it states nothing, out is always zeros,
    or always NaN.
    """
    assert_convention(merge_attention_states, draw, "fully_masked_rows")


@invariant("B", source="FlashAttention: natural; FlashInfer: to the base 2")
def test_lse_base(merge_attention_states: Operation, draw: Draw) -> None:
    """Both lse and the merged one are to the base that the backend states. If it states nothing, the base is always the same, e
    or 2.
    """
    assert_convention(merge_attention_states, draw, "lse_base")
