"""Modules as servers of models have them: positions come first, and a row of queries has the features of all heads."""

from typing import Any

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, head_size: int, rotary_dim: int, max_position: int, base: float, is_neox_style: bool, dtype: Any):
        super().__init__()
        self.head_size, self.rotary_dim, self.is_neox_style = head_size, rotary_dim, is_neox_style
        rates = base ** (-torch.arange(0, rotary_dim, 2, dtype=torch.float64) / rotary_dim)
        angles = torch.arange(max_position)[:, None] * rates
        self.register_buffer("table", torch.cat([angles.cos(), angles.sin()], -1).to(dtype))

    def turn(self, rows: Any, cos: Any, sin: Any) -> Any:
        heads = rows.view(len(rows), -1, self.head_size)
        x, passed = heads[..., : self.rotary_dim], heads[..., self.rotary_dim :]
        a, b = x.chunk(2, -1) if self.is_neox_style else (x[..., ::2], x[..., 1::2])
        turned = a * cos - b * sin, b * cos + a * sin
        joined = torch.cat(turned, -1) if self.is_neox_style else torch.stack(turned, -1).flatten(-2)
        return torch.cat([joined, passed], -1).reshape(rows.shape)

    def forward(self, positions: Any, query: Any, key: Any = None) -> Any:
        cos, sin = self.table[positions][:, None].chunk(2, -1)
        return self.turn(query, cos, sin), None if key is None else self.turn(key, cos, sin)
