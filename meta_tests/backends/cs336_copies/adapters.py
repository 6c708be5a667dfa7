"""A right adapters file: its function with RoPE copies the weights into a module, and the one without uses them as they are."""

import math

import torch
from torch import nn


def attend(d_model, num_heads, wq, wk, wv, wo, x, rotate=lambda y: y):
    n, d = x.shape[-2], d_model // num_heads
    q, k, v = ((x @ w.T).unflatten(-1, (num_heads, d)).transpose(-2, -3) for w in (wq, wk, wv))
    scores = (rotate(q) @ rotate(k).mT / math.sqrt(d)).masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf)
    return (scores.softmax(-1) @ v).transpose(-2, -3).flatten(-2) @ wo.T


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features):
    return attend(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features,
    token_positions=None,
):  # fmt: skip
    weights = [nn.Parameter(w.detach().clone()) for w in (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)]
    positions = torch.arange(in_features.shape[-2]) if token_positions is None else token_positions
    d = d_model // num_heads
    angles = positions[..., None] * theta ** (-torch.arange(0, d, 2) / d)
    if positions.dim() > 1:
        angles = angles[:, None]
    turn = torch.polar(torch.ones_like(angles), angles)

    def rotate(y):
        return torch.view_as_real(torch.view_as_complex(y.unflatten(-1, (-1, 2)).contiguous()) * turn).flatten(-2)

    return attend(d_model, num_heads, *weights, in_features, rotate)
