"""What must hold of grouped_query_attention with sinks, caps and windows."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_unmoved
from .helpers.attention_equation import repeat_shared_heads
from .helpers.attention_inputs import draw_grouped_qkv, draw_hidden_key, replace_key
from .helpers.keywords import accepted, accepted_keywords
from .inputs.draw import Draw, within_domain
from .operations._serving import LARGE_CAPS, SOFTCAPS, WINDOWS, draw_options, draw_sinks
from .operations.grouped_query_attention import draw_inputs
from .trials.invariant import invariant

SINKS = "Xiao et al. 2023, section 3.2; gpt-oss"
CAPS = "Gemma 2, section 2"
SPANS = "FlashAttention's window_size; ONNX Attention-25"


@invariant("B", source=SINKS, needs=("keyword:sinks", "keyword:scale"))
def test_a_sink_is_one_more_key(grouped_query_attention: Operation, draw: Draw) -> None:
    """A sink is one more key with that score and a value of 0: further features of q and of that key make the score."""
    (q, k, v), _ = draw_grouped_qkv(draw)
    h, m, d_k = q.shape[-3], k.shape[-2], k.shape[-1]
    within_domain(draw, h_kv=h, m=m + 1, d_k=d_k + 1)
    sinks = draw.held(draw.rng.standard_normal(h) * 4)
    k, v = repeat_shared_heads(q, k, v)
    sink_key = np.zeros((*k.shape[:-2], 1, d_k + 1))
    sink_key[..., -1] = sinks[:, None]
    longer_q, longer_k = (np.concatenate([x, np.full((*x.shape[:-1], 1), one)], axis=-1) for x, one in ((q, 1.0), (k, 0.0)))
    keys, values = np.concatenate([longer_k, sink_key], axis=-2), np.concatenate([v, 0 * v[..., :1, :]], axis=-2)
    with_key = grouped_query_attention(longer_q, keys, values, scale=1.0)
    assert_equal(grouped_query_attention(q, k, v, sinks=sinks, scale=1.0), with_key)


@invariant("B", source=SINKS, needs=("keyword:sinks",))
def test_a_sink_of_minus_infinity(grouped_query_attention: Operation, draw: Draw) -> None:
    """A sink of −∞ has no effect."""
    q, k, v, keywords = draw_inputs(draw, *accepted(grouped_query_attention, "mask", "scale", "softcap"))
    none = grouped_query_attention(q, k, v, sinks=np.full(q.shape[-3], -np.inf), **keywords)
    assert_equal(none, grouped_query_attention(q, k, v, **keywords))


@invariant("B", source=SINKS, needs=("keyword:sinks",))
def test_sinks_follow_their_heads(grouped_query_attention: Operation, draw: Draw) -> None:
    """Permuting the query heads of a group together with their sinks permutes the result."""
    (q, k, v), _ = draw_grouped_qkv(draw, query_heads=2)
    h = q.shape[-3]
    within_domain(draw, h_kv=h)
    k, v = repeat_shared_heads(q, k, v)
    sinks, order = draw_sinks(draw, h), draw.rng.permutation(h)
    moved = grouped_query_attention(*(x[..., order, :, :] for x in (q, k, v)), sinks=sinks[order])
    assert_equal(moved, grouped_query_attention(q, k, v, sinks=sinks)[..., order, :, :])


@invariant("B", source=CAPS, needs=("keyword:softcap",))
def test_a_large_cap_is_none(grouped_query_attention: Operation, draw: Draw) -> None:
    """A cap far above every score has no effect."""
    (q, k, v), _ = draw_grouped_qkv(draw)
    q, k = draw.grid(q.shape, 0.25, 2), draw.grid(k.shape, 0.25, 2)
    softcap = LARGE_CAPS.get(draw.format.precision, 2.0**10)
    within_domain(draw, softcap=softcap)
    assert_equal(grouped_query_attention(q, k, v, softcap=softcap), grouped_query_attention(q, k, v))


@invariant("B", source=CAPS, needs=("keyword:softcap",))
def test_nothing_flows_where_capped(grouped_query_attention: Operation, draw: Draw) -> None:
    """With a cap, too, hidden keys and values do not change the result if they become other finite ones, however large."""
    (q, k, v), keywords, j, seen = draw_hidden_key(draw, grouped=True)
    keywords |= draw.keyword("softcap", SOFTCAPS)
    y = grouped_query_attention(q, k, v, **keywords)
    assert_unmoved(grouped_query_attention(q, *replace_key(draw, q, k, v, j), **keywords), y, ~seen)


@invariant("B", source=SPANS, needs=("keyword:mask",))
def test_windows_are_masks(grouped_query_attention: Operation, draw: Draw) -> None:
    """A window is the mask p − left ≤ j ≤ p + right, itself not counted; causality hides what it hides besides."""
    used = {draw.one_of(accepted_keywords(draw, *WINDOWS))}
    used |= {name for name in accepted(grouped_query_attention, *WINDOWS, "is_causal") if draw.one_of((False, False, True))}
    (q, k, v), _ = draw_grouped_qkv(draw, square=True)
    n = q.shape[-2]
    keywords: dict[str, Any] = draw_options(draw, used, n)
    away = np.arange(n) - np.arange(n)[:, None]
    left, right = (keywords.get(name) for name in WINDOWS)
    mask = (away >= -(n if left is None else left)) & (away <= (n if right is None else right))
    mask &= (away <= 0) | ("is_causal" not in keywords)
    assert_equal(grouped_query_attention(q, k, v, **keywords), grouped_query_attention(q, k, v, mask=mask))
