"""What must hold of transformer_lm beside the backend's own attention over a cache."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, exactly
from .helpers.heads import join_heads, split_heads
from .helpers.keywords import accepted
from .inputs.draw import Draw
from .operations.multihead_self_attention import SERVED, draw_served
from .operations.transformer_lm import draw_inputs
from .trials.invariant import invariant


@invariant("B", source="CS336 assignment 1, section 3.6", cost=2)
def test_decode_with_a_cache(
    transformer_lm: Operation,
    embedding: Operation,
    rms_norm: Operation,
    linear: Operation,
    rope: Operation,
    attention_with_kv_cache: Operation,
    swiglu: Operation,
    draw: Draw,
) -> None:
    """The scores of the last tokens, from a cache of the keys and values before them, are those of the whole sequence, with
    a window, a cap and another scale, too."""
    ids, weights, keywords = draw_inputs(draw, layers=(1,))
    used = {draw.one_of((*accepted(transformer_lm, *SERVED[1:]), ""))} & {*accepted(attention_with_kv_cache, *SERVED[1:])}
    served = draw_served(draw, used, keywords["num_heads"], min(ids.shape[-1], 9))
    n = min(ids.shape[-1], 9)
    ids = np.reshape(ids, (-1, ids.shape[-1]))[:2, :n]
    layer, eps, h = weights["layers"][0], {"eps": keywords["eps"]}, keywords["num_heads"]
    h_kv = keywords.get("num_kv_heads") or h
    past = draw.near(0, n // 2, n - 1, low=0, high=n - 1)

    def turned(y: Any) -> Any:
        given = {name: keywords[name] for name in ("theta", "layout") if name in keywords}
        return y if keywords.get("theta") is None else rope(y, np.arange(n), **given)

    x: Any = embedding(ids, weights["token_embedding"])
    normed = rms_norm(x, layer["attn_norm"], **eps)
    q, k = (turned(split_heads(linear(normed, layer[w]), heads)) for w, heads in (("w_q", h), ("w_k", h_kv)))
    v = split_heads(linear(normed, layer["w_v"]), h_kv)
    lengths, slots = np.full(len(ids), n), draw.integer(0, 2)
    k_cache, v_cache = (np.concatenate([y, exactly(np.zeros((*y.shape[:-2], slots, y.shape[-1])))], axis=-2) for y in (k, v))
    attended = attention_with_kv_cache(q[..., past:, :], k_cache, v_cache, lengths, **served)
    x = x[:, past:] + linear(join_heads(attended), layer["w_o"])
    x = x + swiglu(rms_norm(x, layer["ffn_norm"], **eps), *(layer[w] for w in ("w1", "w2", "w3")))
    scores = linear(rms_norm(x, weights["final_norm"], **eps), weights["lm_head"])
    assert_equal(transformer_lm(ids, weights, **keywords, **served)[:, past:], scores)
