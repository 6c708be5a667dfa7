"""The exercises of the book, chapter 3: each with the exercise's signature, defaults and way of computing."""

import torch
import torch.nn.functional as F
from torch import nn


def scaled_dot_product_attention(q, k, v, causal=False):
    """Exercise 1: one head; the weights are returned too, and as many keys as queries are assumed."""
    scores = torch.matmul(q, k.mT) / q.shape[-1] ** 0.5
    if causal:
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    weights = scores.softmax(-1)
    return torch.matmul(weights, v), weights


def _heads(y, count):
    return y.unflatten(-1, (count, -1)).transpose(1, 2)


class MiniMHA(nn.Module):
    """Exercise 2: heads side by side, biases in all four layers, no mask and no positions."""

    def __init__(self, embed_dim=32, num_heads=4):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} features do not make {num_heads} heads")
        self.h = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(embed_dim, embed_dim) for _ in range(4))

    def forward(self, x):
        q, k, v = (_heads(layer(x), self.h) for layer in (self.q, self.k, self.v))
        mixed, _ = scaled_dot_product_attention(q, k, v)
        return self.o(mixed.transpose(1, 2).flatten(-2))


def apply_rope(t, base=10000.0):
    """Exercise 3: positions 0, 1, 2 …; feature k of the first half turns with feature k of the second."""
    half = t.shape[-1] // 2
    frequencies = 1.0 / base ** (torch.arange(half) / half)
    angles = torch.outer(torch.arange(t.shape[-2]), frequencies)
    a, b = t.split(half, dim=-1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], dim=-1)


def alibi_bias(seq_len, num_heads):
    """Exercise 4: slopes of its own, from 1 to about a half."""
    slopes = torch.tensor([2.0 ** (-i / num_heads) for i in range(num_heads)])
    places = torch.arange(seq_len)
    distance = (places[:, None] - places).abs().float()
    return -slopes[:, None, None] * distance


class RMSNorm(nn.Module):
    """Exercise 5: eps is added to the root."""

    def __init__(self, dim, eps=1e-8):
        super().__init__()
        self.scale, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        return self.scale * (x / (x.square().mean(-1, keepdim=True).sqrt() + self.eps))


def count_params(m):
    """Exercise 6."""
    return sum(parameter.numel() for parameter in m.parameters())


class SwiGLU(nn.Module):
    """Exercise 7: w1 is the gate's layer and w2 the other; the last layer is proj, and all have biases."""

    def __init__(self, d_in, d_hidden, d_out):
        super().__init__()
        self.w1, self.w2, self.proj = nn.Linear(d_in, d_hidden), nn.Linear(d_in, d_hidden), nn.Linear(d_hidden, d_out)

    def forward(self, x):
        return self.proj(F.silu(self.w1(x)) * self.w2(x))


class SimpleGQA(nn.Module):
    """Exercise 8: queries, keys and values of each head; those of a shared head are repeated for its neighbours."""

    def __init__(self, d_model=64, q_heads=8, kv_heads=2):
        super().__init__()
        if d_model % q_heads:
            raise ValueError(f"{d_model} features do not make {q_heads} heads")
        self.qh, self.kvh, width = q_heads, kv_heads, d_model // q_heads * kv_heads
        self.q, self.k, self.v = nn.Linear(d_model, d_model), nn.Linear(d_model, width), nn.Linear(d_model, width)

    def forward(self, x):
        q, k, v = _heads(self.q(x), self.qh), _heads(self.k(x), self.kvh), _heads(self.v(x), self.kvh)
        return q, *(y.repeat_interleave(self.qh // self.kvh, dim=1) for y in (k, v))


def local_attention(x, window=2):
    """Exercise 9: x is its own queries, keys and values; unscaled, with a loop over the tokens."""
    rows = []
    for i in range(x.shape[1]):
        near = x[:, max(i - window, 0) : i + window + 1]
        weights = torch.bmm(x[:, i : i + 1], near.mT).softmax(-1)
        rows.append(torch.bmm(weights, near))
    return torch.cat(rows, dim=1)
