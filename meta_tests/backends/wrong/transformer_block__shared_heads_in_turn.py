"""Tile the heads of keys and values instead of repeating each for its group."""

import torch.nn.functional as F

framework = "torch"
dtypes = ("float64", "float32")


def transformer_block(x, weights, *, num_heads, num_kv_heads=None, eps):
    def heads(w, count):
        h = F.linear(a, w).unflatten(-1, (count, -1)).transpose(-2, -3)
        return h.tile(num_heads // count, 1, 1)

    shared = num_kv_heads or num_heads
    a = F.rms_norm(x, x.shape[-1:], weights["attn_norm"], eps)
    q, k, v = heads(weights["w_q"], num_heads), heads(weights["w_k"], shared), heads(weights["w_v"], shared)
    o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    h = x + F.linear(o.transpose(-2, -3).flatten(-2), weights["w_o"])
    m = F.rms_norm(h, x.shape[-1:], weights["ffn_norm"], eps)
    return h + F.linear(F.silu(F.linear(m, weights["w1"])) * F.linear(m, weights["w3"]), weights["w2"])


caught_by = "transformer_block.shared_heads_are_repeated_weights"
named = "transformer_block/grouped_query_attention/heads-in-turn"
