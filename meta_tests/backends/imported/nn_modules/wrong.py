"""Modules with bugs that often occur, and some that cannot be taken."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    """Epsilon stands outside the square root."""

    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight, self.variance_epsilon = nn.Parameter(torch.ones(hidden_size)), eps

    def forward(self, hidden_states):
        root = hidden_states.float().square().mean(-1, keepdim=True).sqrt()
        return (hidden_states / (root + self.variance_epsilon) * self.weight).to(hidden_states.dtype)


class LayerNorm(nn.Module):
    """The variance is divided by d - 1."""

    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.a_2, self.b_2, self.eps = nn.Parameter(torch.ones(features)), nn.Parameter(torch.zeros(features)), eps

    def forward(self, x):
        return self.a_2 * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + self.eps).sqrt() + self.b_2


class MultiheadAttention(nn.Module):
    """The scores are not divided by the root of the width."""

    def __init__(self, embed_dim, num_heads, bias=True, batch_first=False):
        super().__init__()
        self.num_heads = num_heads
        self.in_proj = nn.Linear(embed_dim, 3 * embed_dim, bias=bias)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(self, query, key, value):
        q, k, v = (y.unflatten(-1, (self.num_heads, -1)).transpose(-2, -3) for y in self.in_proj(query).chunk(3, dim=-1))
        y = torch.softmax(q @ k.mT, dim=-1) @ v
        return self.out_proj(y.transpose(-2, -3).flatten(-2)), None


class GELU(nn.Module):
    """It needs an argument that no operation has."""

    def __init__(self, flavour):
        super().__init__()

    def forward(self, x):
        return x


class GemmaRMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.zeros(dim)), eps

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps) * (1 + self.weight.float())).to(x.dtype)
