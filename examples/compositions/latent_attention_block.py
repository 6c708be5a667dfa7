"""A layer with latent attention as in DeepSeek-V3, in PyTorch: keys and values for several tokens, latents for a single one."""

import torch
from torch.nn import functional as F

EPS, WIDTH = 1e-6, 4  # WIDTH: rotated features of a head


def norm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight


def turn(x, positions):
    """Rotate neighbouring features of x (..., n, d_r)."""
    d = x.shape[-1]
    angles = positions[:, None].double() * 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def shares_of(scores, width, is_hidden):
    return (scores * width**-0.5).masked_fill(is_hidden, -torch.inf).softmax(-1)


def attend_to_heads(q, turned, latents, w_uk, w_uv, is_hidden):
    """The explicit form, which makes the keys and values of each head."""
    scores = turned + q @ (latents @ w_uk.mT).mT
    return shares_of(scores, q.shape[-1] + WIDTH, is_hidden) @ (latents @ w_uv.mT)


def attend_to_latents(q, turned, latents, w_uk, w_uv, is_hidden):
    """The absorbed form: the latents are keys and values at once."""
    scores = turned + (q @ w_uk) @ latents.mT
    return (shares_of(scores, q.shape[-1] + WIDTH, is_hidden) @ latents) @ w_uv.mT


def latent_attention_block(x, weights, latents=None, keys=None):
    w_uk, w_uv = weights["w_uk"], weights["w_uv"]
    n, past, (h, d_n, _) = x.shape[-2], 0 if latents is None else latents.shape[-2], w_uk.shape
    positions = torch.arange(past, past + n)
    q = F.linear(norm(F.linear(x, weights["w_dq"]), weights["q_norm"]), weights["w_uq"])
    q = q.unflatten(-1, (h, -1)).transpose(-2, -3)
    q_nope, q_rope = q[..., :d_n], turn(q[..., d_n:], positions)
    latent = norm(F.linear(x, weights["w_dkv"]), weights["kv_norm"])
    key = turn(F.linear(x, weights["w_kr"]), positions)
    latents = latent if latents is None else torch.cat([latents, latent], dim=-2)
    keys = key if keys is None else torch.cat([keys, key], dim=-2)
    is_hidden = torch.ones(n, past + n, dtype=torch.bool).triu(past + 1)
    attend = attend_to_latents if n == 1 else attend_to_heads
    out = attend(q_nope, q_rope @ keys.mT[..., None, :, :], latents[..., None, :, :], w_uk, w_uv, is_hidden)
    return F.linear(out.transpose(-2, -3).flatten(-2), weights["w_o"]), latents, keys
