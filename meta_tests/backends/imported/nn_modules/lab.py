"""The modules of a course: a configuration, attention with one projection, and norms with names of their own."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    d_model: int
    num_heads: int
    bias: bool = True


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.gain, self.eps = nn.Parameter(torch.ones(d_model)), eps

    def forward(self, x):
        h = x.double()
        return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps) * self.gain).to(x.dtype)


class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.beta, self.gamma, self.eps = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        h = x.double()
        h = h - h.mean(-1, keepdim=True)
        return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps) * self.gamma + self.beta).to(x.dtype)


class RotaryEmbedding(nn.Module):
    def __init__(self, head_dim, max_position_embeddings, base=10000.0):
        super().__init__()
        angles = torch.outer(
            torch.arange(max_position_embeddings, dtype=torch.float64),
            base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim),
        )
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, position_ids):
        cos, sin = self.cos[position_ids], self.sin[position_ids]
        a, b = x.double().chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1).to(x.dtype)


class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_heads = config.num_heads
        self.qkv = nn.Linear(config.d_model, 3 * config.d_model, bias=config.bias)
        self.out = nn.Linear(config.d_model, config.d_model, bias=config.bias)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (self.num_heads, -1)).transpose(-2, -3) for y in self.qkv(x).chunk(3, dim=-1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(-2, -3).flatten(-2))
