"""What must hold of attention_with_lse with sinks, caps, windows and masks."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, assert_within, exactly
from .helpers.attention_equation import repeat_shared_heads
from .helpers.attention_inputs import draw_grouped_qkv, draw_hidden_key, replace_key, spoil_key
from .helpers.attention_states import add_sink, assert_states_equal, share_of_keys
from .helpers.conventions import assert_convention
from .helpers.keywords import accepted, accepted_keywords
from .helpers.lse_base import to_nats
from .inputs.draw import Draw, within_domain
from .operations._serving import LARGE_CAPS, SOFTCAPS, draw_options, draw_seeing_mask, draw_sinks
from .operations.attention_with_lse import draw_inputs
from .trials.invariant import invariant

SINKS = "Xiao et al. 2023, section 3.2; gpt-oss"
CAPS = "Gemma 2, section 2"
WINDOWS = "FlashAttention's window_size; ONNX Attention-25"


# --- sinks ----------------------------------------------------------------------------------------------------------


@invariant("B", source=SINKS, needs=("keyword:sinks",))
def test_sinks_take_their_share(attention_with_lse: Operation, draw: Draw) -> None:
    """With a sink out is the plain one times σ(lse − sink), and lse gains the sink as one more term, once."""
    q, k, v, keywords = draw_inputs(draw, *accepted(attention_with_lse, "mask", "scale", "softcap", "is_causal"), seeing=True)
    sinks = draw_sinks(draw, q.shape[-3])
    plain, lse = attention_with_lse(q, k, v, **keywords)
    out, total = attention_with_lse(q, k, v, sinks=sinks, **keywords)
    lse, total = (to_nats(attention_with_lse, x) for x in (lse, total))
    assert_equal(out, plain * share_of_keys(lse, sinks)[..., None])
    assert_equal(total, add_sink(lse, sinks))


@invariant("B", source=SINKS, needs=("keyword:sinks", "keyword:scale"))
def test_a_sink_is_one_more_key(attention_with_lse: Operation, draw: Draw) -> None:
    """A sink is one more key with that score and a value of 0: further features of q and of that key make the score."""
    (q, k, v), _ = draw_grouped_qkv(draw)
    h, m, d_k = q.shape[-3], k.shape[-2], k.shape[-1]
    within_domain(draw, h_kv=h, m=m + 1, d_k=d_k + 1)
    sinks = draw.held(draw.rng.standard_normal(h) * 4)
    k, v = repeat_shared_heads(q, k, v)
    longer_q = np.concatenate([q, np.ones((*q.shape[:-1], 1))], axis=-1)
    longer_k = np.concatenate([k, np.zeros((*k.shape[:-1], 1))], axis=-1)
    sink_key = np.zeros((*k.shape[:-2], 1, d_k + 1))
    sink_key[..., -1] = sinks[:, None]
    with_key = attention_with_lse(
        longer_q, np.concatenate([longer_k, sink_key], axis=-2), np.concatenate([v, 0 * v[..., :1, :]], axis=-2), scale=1.0
    )
    assert_states_equal(attention_with_lse(q, k, v, sinks=sinks, scale=1.0), with_key)


@invariant("B", source=SINKS, needs=("keyword:sinks",))
def test_a_sink_of_minus_infinity(attention_with_lse: Operation, draw: Draw) -> None:
    """A sink of −∞ has no effect."""
    q, k, v, keywords = draw_inputs(draw, *accepted(attention_with_lse, "mask", "scale", "softcap"), seeing=True)
    none = attention_with_lse(q, k, v, sinks=np.full(q.shape[-3], -np.inf), **keywords)
    assert_states_equal(none, attention_with_lse(q, k, v, **keywords))


@invariant("B", source=SINKS, needs=("keyword:sinks",))
def test_sinks_follow_their_heads(attention_with_lse: Operation, draw: Draw) -> None:
    """Permuting the query heads of a group together with their sinks permutes both results."""
    (q, k, v), _ = draw_grouped_qkv(draw, query_heads=2)
    h = q.shape[-3]
    within_domain(draw, h_kv=h)
    k, v = repeat_shared_heads(q, k, v)
    sinks, order = draw_sinks(draw, h), draw.rng.permutation(h)
    out, lse = attention_with_lse(q, k, v, sinks=sinks)
    moved = attention_with_lse(*(x[..., order, :, :] for x in (q, k, v)), sinks=sinks[order])
    assert_states_equal(moved, (out[..., order, :, :], lse[..., order, :]))


@invariant("E", source=SINKS, needs=("keyword:sinks", "keyword:mask"))
def test_nothing_but_a_sink(attention_with_lse: Operation, draw: Draw) -> None:
    """A query that sees no key but a finite sink has an out of exactly 0 and the sink as its lse."""
    (q, k, v), _ = draw_grouped_qkv(draw)
    sinks = draw.held(draw.rng.standard_normal(q.shape[-3]) * 4)
    blind = np.asarray(draw.rng.random(q.shape[-2]) < draw.one_of((0.5, 1.0)))
    mask = np.broadcast_to(~blind[:, None], (q.shape[-2], k.shape[-2])).copy()
    out, lse = attention_with_lse(q, k, v, mask=mask, sinks=sinks)
    silent = out.value[..., blind, :]
    assert_identical(silent, np.zeros(silent.shape))
    assert_equal(to_nats(attention_with_lse, lse[..., blind]), np.broadcast_to(sinks[:, None], lse.shape)[..., blind])


# --- caps -----------------------------------------------------------------------------------------------------------


@invariant("B", source=CAPS, needs=("keyword:softcap",))
def test_a_large_cap_is_none(attention_with_lse: Operation, draw: Draw) -> None:
    """A cap far above every score has no effect."""
    (q, k, v), _ = draw_grouped_qkv(draw)
    q, k = draw.grid(q.shape, 0.25, 2), draw.grid(k.shape, 0.25, 2)
    softcap = LARGE_CAPS.get(draw.format.precision, 2.0**10)
    within_domain(draw, softcap=softcap)
    assert_states_equal(attention_with_lse(q, k, v, softcap=softcap), attention_with_lse(q, k, v))


@invariant("B", source=CAPS, needs=("keyword:softcap",))
def test_capped_scores(attention_with_lse: Operation, draw: Draw) -> None:
    """No capped score exceeds the cap: −c ≤ lse − log m ≤ c."""
    q, k, v, _ = draw_inputs(draw)
    softcap = draw.keyword("softcap", SOFTCAPS)
    _, lse = attention_with_lse(q, k, v, **softcap)
    beyond_log: Any = to_nats(attention_with_lse, lse) - float(np.log(k.shape[-2]))
    assert_within(beyond_log, -softcap["softcap"], softcap["softcap"])


@invariant("B", source=CAPS, needs=("keyword:softcap",))
def test_capped_scores_are_odd(attention_with_lse: Operation, draw: Draw) -> None:
    """The capped score of −q is minus that of q: of a single key, whose lse is its score."""
    q, k, v, _ = draw_inputs(draw)
    within_domain(draw, m=1)
    k, v, softcap = k[..., :1, :], v[..., :1, :], draw.keyword("softcap", SOFTCAPS)
    _, lse = attention_with_lse(q, k, v, **softcap)
    _, opposite = attention_with_lse(-q, k, v, **softcap)
    assert_equal(opposite, -lse)


# --- windows --------------------------------------------------------------------------------------------------------


@invariant("B", source=WINDOWS, needs=("keyword:left_window", "keyword:right_window"))
def test_a_wide_window_is_none(attention_with_lse: Operation, draw: Draw) -> None:
    """Windows as wide as the sequence hide nothing; with is_causal the right one has nothing to hide anyway."""
    (q, k, v), _ = draw_grouped_qkv(draw, square=True)
    n = q.shape[-2]
    wide = {name: n + draw.integer(0, 2) for name in ("left_window", "right_window")}
    within_domain(draw, **wide)
    causal = {"is_causal": True} if attention_with_lse.accepts("is_causal") and draw.one_of((False, True)) else {}
    assert_states_equal(attention_with_lse(q, k, v, **wide, **causal), attention_with_lse(q, k, v, **causal))


@invariant("B", source=WINDOWS, needs=("keyword:left_window", "keyword:right_window"))
def test_own_key_alone(attention_with_lse: Operation, draw: Draw) -> None:
    """Windows of 0 on both sides leave each query its own position: out is its value and lse its score."""
    (q, k, v), _ = draw_grouped_qkv(draw, square=True)
    within_domain(draw, left_window=0, right_window=0)
    out, lse = attention_with_lse(q, k, v, left_window=0, right_window=0)
    assert_equal(out, np.broadcast_to(repeat_shared_heads(q, v)[0], out.shape))
    own: Any = exactly(q[..., None, :]) @ exactly(repeat_shared_heads(q, k)[0][..., None])
    assert_equal(to_nats(attention_with_lse, lse), own[..., 0, 0] / np.sqrt(exactly(float(q.shape[-1]))))


@invariant("B", source=WINDOWS, needs=("keyword:mask",))
def test_windows_are_masks(attention_with_lse: Operation, draw: Draw) -> None:
    """A window is the mask p − left ≤ j ≤ p + right, itself not counted; causality and masks hide what they hide besides."""
    used = {draw.one_of(accepted_keywords(draw, "left_window", "right_window"))}
    others = accepted(attention_with_lse, "left_window", "right_window", "is_causal")
    used |= {name for name in others if draw.one_of((False, False, True))}
    (q, k, v), _ = draw_grouped_qkv(draw, square=True, keys=2)
    n = q.shape[-2]
    keywords = draw_options(draw, used, n)
    if draw.one_of((False, True)):
        keywords["mask"] = draw_seeing_mask(draw, ((),), n, n, used | {"is_causal"})
    away = np.arange(n) - np.arange(n)[:, None]
    left, right = (keywords.get(name) for name in ("left_window", "right_window"))
    mask = (away >= -(n if left is None else left)) & (away <= (n if right is None else right))
    mask = mask & ((away <= 0) | ("is_causal" not in keywords)) & keywords.get("mask", True)
    assert_states_equal(attention_with_lse(q, k, v, **keywords), attention_with_lse(q, k, v, mask=mask))


# --- hidden keys ----------------------------------------------------------------------------------------------------


@invariant("B", source=WINDOWS)
def test_nothing_flows_where_hidden(attention_with_lse: Operation, draw: Draw) -> None:
    """Where the mask or causality says False, other finite keys and values, however large, change neither result, capped or
    not.
    """
    (q, k, v), keywords, j, seen = draw_hidden_key(draw, grouped=True)
    if attention_with_lse.accepts("softcap") and draw.one_of((False, True)):
        keywords |= draw.keyword("softcap", SOFTCAPS)
    before = attention_with_lse(q, k, v, **keywords)
    after = attention_with_lse(q, *replace_key(draw, q, k, v, j), **keywords)
    for one, other in zip(before, after, strict=True):
        assert_unmoved(other, one, ~seen)


@invariant("E", needs=("keyword:mask",))
def test_blind_queries(attention_with_lse: Operation, draw: Draw) -> None:
    """A query that sees no key has an lse of −∞, whatever its out is, and the others are what they are beside any query."""
    (q, k, v), _ = draw_grouped_qkv(draw)
    n, m = q.shape[-2], k.shape[-2]
    blind = np.asarray(draw.rng.random(n) < draw.one_of((0.5, 1.0)))
    out, lse = attention_with_lse(q, k, v, mask=np.broadcast_to(~blind[:, None], (n, m)).copy())
    assert_identical(lse.value[..., blind], np.full(lse.value[..., blind].shape, -np.inf))
    plain_out, plain_lse = attention_with_lse(q, k, v)
    assert_unmoved(out, plain_out, (..., ~blind, slice(None)))
    assert_unmoved(lse, plain_lse, (..., ~blind))


@invariant("B", level="quarantine", cost=2)
def test_quarantine(attention_with_lse: Operation, draw: Draw) -> None:
    """NaN and infinities in keys and values where the mask or causality says False never reach a result."""
    (q, k, v), keywords, j, seen = draw_hidden_key(draw, grouped=True)
    before = attention_with_lse(q, k, v, **keywords)
    after = attention_with_lse(q, *spoil_key(draw, k, v, j), **keywords)
    for one, other in zip(before, after, strict=True):
        assert_unmoved(other, one, ~seen)


# --- conventions ----------------------------------------------------------------------------------------------------


@invariant("B", needs=("keyword:is_causal",))
def test_causal_alignment(attention_with_lse: Operation, draw: Draw) -> None:
    """With n ≠ m, is_causal and windows hide what the backend states. If it states nothing, it is always the same: the last
    query is aligned with the last key (bottom-right), or the first with the first (top-left). Queries before the first key
    are fully masked rows.
    """
    assert_convention(attention_with_lse, draw, "causal_alignment")


@invariant("B", needs=("keyword:mask",))
def test_fully_masked_rows(attention_with_lse: Operation, draw: Draw) -> None:
    """A query that attends to no key gives what the backend states. If the backend states nothing, it always gives zeros, or
    always NaN. The other queries give what the equation says.
    """
    assert_convention(attention_with_lse, draw, "fully_masked_rows")


@invariant("B", source="FlashAttention: natural; FlashInfer: to the base 2")
def test_lse_base(attention_with_lse: Operation, draw: Draw) -> None:
    """lse is to the base that the backend states. If it states nothing, the base is always the same, e or 2."""
    assert_convention(attention_with_lse, draw, "lse_base")
