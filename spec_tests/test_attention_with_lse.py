"""What must hold of attention_with_lse: of lse, of parts of the keys, and what holds of any attention."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_finite, assert_unmoved, assert_within, exactly
from .helpers.attention_equation import group_size, repeat_shared_heads
from .helpers.attention_inputs import draw_grouped_qkv
from .helpers.attention_states import assert_states_equal, draw_cut, exact_scores, logsumexp_of, merge_exactly
from .helpers.keywords import accepted
from .helpers.lse_base import state_in_nats, to_nats
from .inputs.draw import Draw, within_domain
from .operations._serving import draw_sinks
from .operations.attention_with_lse import draw_inputs
from .trials.invariant import invariant

SOURCE = "FlashAttention's lse; Dao et al. 2022, section 3.1"


@invariant("B", source=SOURCE, cost=1.5)
def test_parts_make_the_whole(attention_with_lse: Operation, draw: Draw) -> None:
    """The states of parts of the keys, merged, are the state of all keys, for every cut; a sink stands in one part alone."""
    optional = accepted(attention_with_lse, "scale", "softcap", "sinks")
    q, k, v, keywords = draw_inputs(draw, *optional)
    sinks = keywords.pop("sinks", None)
    parts = draw_cut(draw, k.shape[-2])
    for part in parts:
        within_domain(draw, m=len(part))
    own = [{**keywords, **({"sinks": sinks} if sinks is not None and not i else {})} for i in range(len(parts))]
    states = (
        state_in_nats(attention_with_lse, attention_with_lse(q, k[..., keys, :], v[..., keys, :], **options))
        for keys, options in zip(parts, own, strict=True)
    )
    whole = attention_with_lse(q, k, v, **keywords, **({} if sinks is None else {"sinks": sinks}))
    assert_states_equal(merge_exactly(*states), state_in_nats(attention_with_lse, whole))


@invariant("B", source=SOURCE)
def test_lse_of_scores(attention_with_lse: Operation, draw: Draw) -> None:
    """lse is the logarithm of the sum of the exponentials of the scores, −∞ where a query sees no key."""
    q, k, v, keywords = draw_inputs(draw, *accepted(attention_with_lse, "mask", "scale", "softcap"))
    _, lse = attention_with_lse(q, k, v, **keywords)
    assert_equal(to_nats(attention_with_lse, lse), logsumexp_of(exact_scores(q, k, keywords, keywords.get("mask", True))))


@invariant("B", source=SOURCE)
def test_between_the_largest_score_and_log_m_more(attention_with_lse: Operation, draw: Draw) -> None:
    """max ≤ lse ≤ max + log m, over the scores of the m keys."""
    q, k, v, keywords = draw_inputs(draw, *accepted(attention_with_lse, "scale", "softcap"))
    _, lse = attention_with_lse(q, k, v, **keywords)
    top: Any = np.max(exact_scores(q, k, keywords), axis=-1)
    assert_within(to_nats(attention_with_lse, lse), top, top + float(np.log(k.shape[-2])))


@invariant("B", source=SOURCE)
def test_shift_of_scores(attention_with_lse: Operation, draw: Draw) -> None:
    """A constant that is added to all scores of a query is added to its lse, and does not change out."""
    (q, k, v), _ = draw_grouped_qkv(draw)
    q, k = draw.grid(q.shape, 1.0, 2), draw.grid(k.shape, 1.0, 4)
    c = draw.grid((k.shape[-1],), 16.0, 3)
    out, lse = attention_with_lse(q, k, v)
    shifted, higher = attention_with_lse(q, k + c, v)
    added: Any = exactly(q @ c) / np.sqrt(exactly(float(q.shape[-1])))
    assert_equal(shifted, out)
    assert_equal(to_nats(attention_with_lse, higher), to_nats(attention_with_lse, lse) + added)


@invariant("B", source=SOURCE)
def test_weights_from_lse(attention_with_lse: Operation, draw: Draw) -> None:
    """With exp(score − lse) as weights the values average to out."""
    q, k, v, keywords = draw_inputs(draw, *accepted(attention_with_lse, "scale", "softcap"))
    out, lse = state_in_nats(attention_with_lse, attention_with_lse(q, k, v, **keywords))
    weights: Any = np.exp(exact_scores(q, k, keywords) - exactly(lse)[..., None])
    averaged: Any = weights @ exactly(repeat_shared_heads(q, v)[0])
    assert_equal(averaged, out)


@invariant("B", source=SOURCE)
def test_one_key(attention_with_lse: Operation, draw: Draw) -> None:
    """Of a single key out is the value and lse the score."""
    q, k, v, keywords = draw_inputs(draw, *accepted(attention_with_lse, "scale", "softcap"))
    within_domain(draw, m=1)
    k, v = k[..., :1, :], v[..., :1, :]
    out, lse = attention_with_lse(q, k, v, **keywords)
    assert_equal(out, np.broadcast_to(repeat_shared_heads(q, v)[0], out.shape))
    assert_equal(to_nats(attention_with_lse, lse), exact_scores(q, k, keywords)[..., 0])


@invariant("B", source=SOURCE)
def test_equal_keys(attention_with_lse: Operation, draw: Draw) -> None:
    """m equal keys have an lse of log m more than one of them."""
    (q, k, v), _ = draw_grouped_qkv(draw)
    within_domain(draw, m=1)
    _, lse = attention_with_lse(q, np.broadcast_to(k[..., :1, :], k.shape).copy(), v)
    _, single = attention_with_lse(q, k[..., :1, :], v[..., :1, :])
    lse, single = (to_nats(attention_with_lse, x) for x in (lse, single))
    assert_equal(lse, single + float(np.log(k.shape[-2])))


@invariant("B", source=SOURCE)
def test_lse_is_blind_to_values(attention_with_lse: Operation, draw: Draw) -> None:
    """Other values do not change lse, and values of 0 neither: they are no padding."""
    q, k, v, keywords = draw_inputs(draw, *accepted(attention_with_lse, "mask", "sinks", "is_causal"))
    _, lse = attention_with_lse(q, k, v, **keywords)
    silent = draw.rng.random((*v.shape[:-1], 1)) < draw.one_of((0.5, 1.0, 0.1))
    _, other = attention_with_lse(q, k, np.where(silent, 0.0, draw.held(draw.one_of((-2.0, 64.0)) * v)), **keywords)
    assert_unmoved(other, lse)


# --- what holds of any attention ------------------------------------------------------------------------------------


@invariant("B", source=SOURCE, cost=1.5)
def test_is_attention(attention_with_lse: Operation, grouped_query_attention: Operation, draw: Draw) -> None:
    """out is what the backend's own grouped-query attention gives."""
    common = [
        name
        for name in ("mask", "is_causal", "scale")
        if attention_with_lse.accepts(name) and grouped_query_attention.accepts(name)
    ]
    q, k, v, keywords = draw_inputs(draw, *common, seeing=True)
    out, _ = attention_with_lse(q, k, v, **keywords)
    assert_equal(out, grouped_query_attention(q, k, v, **keywords))


@invariant("B", source=SOURCE)
def test_repeated_heads(attention_with_lse: Operation, draw: Draw) -> None:
    """Query head i uses key/value head i // (h / h_kv), for both results: the same as if each shared head were repeated."""
    q, k, v, keywords = draw_inputs(draw, *accepted(attention_with_lse, "mask", "sinks", "softcap"))
    within_domain(draw, h_kv=q.shape[-3])
    assert_states_equal(attention_with_lse(q, k, v, **keywords), attention_with_lse(q, *repeat_shared_heads(q, k, v), **keywords))


@invariant("B", source=SOURCE)
def test_heads_are_separate(attention_with_lse: Operation, draw: Draw) -> None:
    """A query head's results are what it, its own sink, and its own head of keys and values give alone."""
    (q, k, v), _ = draw_grouped_qkv(draw, query_heads=2)
    within_domain(draw, h=1, h_kv=1)
    i = draw.integer(0, q.shape[-3] - 1)
    g = i // group_size(q, k)
    with_sinks = attention_with_lse.accepts("sinks") and draw.one_of((False, True))
    sinks = {"sinks": draw_sinks(draw, q.shape[-3])} if with_sinks else {}
    own = {name: x[i : i + 1] for name, x in sinks.items()}
    out, lse = attention_with_lse(q, k, v, **sinks)
    alone = attention_with_lse(q[..., i : i + 1, :, :], k[..., g : g + 1, :, :], v[..., g : g + 1, :, :], **own)
    assert_states_equal((out[..., i : i + 1, :, :], lse[..., i : i + 1, :]), alone)


@invariant("B", source=SOURCE)
def test_order_of_keys(attention_with_lse: Operation, draw: Draw) -> None:
    """Permuting keys, values and the mask's columns together changes neither result."""
    q, k, v, keywords = draw_inputs(draw, *accepted(attention_with_lse, "mask", "scale", "softcap", "sinks"))
    order = draw.rng.permutation(k.shape[-2])
    moved = {name: x[..., order] if name == "mask" else x for name, x in keywords.items()}
    permuted = attention_with_lse(q, k[..., order, :], v[..., order, :], **moved)
    assert_states_equal(permuted, attention_with_lse(q, k, v, **keywords))


@invariant("F", source=SOURCE)
def test_large_scores(attention_with_lse: Operation, draw: Draw) -> None:
    """Scores of ±10000/√d_k overflow in neither result, also in a head whose scores are all so low."""
    (q, k, v), _ = draw_grouped_qkv(draw)
    one_hot = np.eye(q.shape[-1])[0]
    q, k = (np.broadcast_to(draw.rng.choice((-100.0, 100.0), (*x.shape[:-1], 1)) * one_hot, x.shape) for x in (q, k))
    k = np.abs(k) if draw.one_of((True, False)) else k
    for result in attention_with_lse(q, k, v):
        assert_finite(result)
