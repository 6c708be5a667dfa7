"""The equations of the two blocks: compositions of those in `reference_numpy`. A block returns out and then its states."""

import numpy as np

from reference_numpy.causal_conv1d import causal_conv1d
from reference_numpy.gated_rms_norm import gated_rms_norm
from reference_numpy.latent_attention import latent_attention
from reference_numpy.linear import linear
from reference_numpy.linear_attention import linear_attention
from reference_numpy.linear_attention_gate import linear_attention_gate
from reference_numpy.rms_norm import rms_norm
from reference_numpy.rope import rope
from reference_numpy.sigmoid import sigmoid

EPS = 1e-6


def heads_of(x, heads):
    """(..., n, heads * d)  ->  (..., heads, n, d)"""
    return np.swapaxes(np.reshape(x, (*x.shape[:-1], heads, x.shape[-1] // heads)), -2, -3)


def tokens_of(x):
    """(..., heads, n, d)  ->  (..., n, heads * d)"""
    x = np.swapaxes(x, -2, -3)
    return np.reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def linear_attention_block(x, weights, columns=None, state=None):
    """As in Qwen3-Next: projection, convolution with silu, split, gates, gated delta rule, gated norm, projection."""
    h, h_k = len(weights["a_log"]), weights["key_heads"]
    mixed = np.swapaxes(linear(x, weights["w_qkv"]), -1, -2)
    mixed, columns = causal_conv1d(mixed, weights["taps"], None, columns, activation="silu")
    mixed = np.swapaxes(mixed, -1, -2)
    d = h_k * weights["key_width"]
    q, k, v = heads_of(mixed[..., :d], h_k), heads_of(mixed[..., d : 2 * d], h_k), heads_of(mixed[..., 2 * d :], h)
    g = linear_attention_gate(heads_of(linear(x, weights["w_a"]), h), weights["a_log"], weights["dt_bias"])
    beta = np.swapaxes(sigmoid(linear(x, weights["w_b"])), -1, -2)
    read, state = linear_attention(q, k, v, g, beta, state, qk_l2norm=True)
    gate = heads_of(linear(x, weights["w_z"]), h)
    return linear(tokens_of(gated_rms_norm(read, gate, weights["norm"], eps=EPS)), weights["w_o"]), columns, state


def latent_attention_block(x, weights, latents=None, keys=None):
    """As in DeepSeek-V3: low-rank projections with norms, rotated parts of their own, and a cache of latents."""
    n, past, h = x.shape[-2], 0 if latents is None else latents.shape[-2], len(weights["w_uk"])
    positions = np.arange(past, past + n)
    q = heads_of(linear(rms_norm(linear(x, weights["w_dq"]), weights["q_norm"], eps=EPS), weights["w_uq"]), h)
    d_n = weights["w_uk"].shape[-2]
    q_nope, q_rope = q[..., :d_n], rope(q[..., d_n:], positions)
    latent = rms_norm(linear(x, weights["w_dkv"]), weights["kv_norm"], eps=EPS)
    key = rope(linear(x, weights["w_kr"]), positions)
    latents = latent if latents is None else np.concatenate([latents, latent], axis=-2)
    keys = key if keys is None else np.concatenate([keys, key], axis=-2)
    out, _ = latent_attention(q_nope, q_rope, latents, keys, weights["w_uk"], weights["w_uv"])
    return linear(tokens_of(out), weights["w_o"]), latents, keys
