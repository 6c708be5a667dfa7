"""Feed-forward modules that choose their own number of hidden features, and a gate without parameters."""

from typing import Any

import torch
from torch import nn


class FeedForward(nn.Module):
    """As in Llama: the number of features is a multiple of a number."""

    def __init__(self, dim: int, hidden_dim: int, multiple_of: int, ffn_dim_multiplier: float | None):
        super().__init__()
        hidden_dim = int(2 * hidden_dim / 3)
        if ffn_dim_multiplier is not None:
            hidden_dim = int(ffn_dim_multiplier * hidden_dim)
        hidden_dim = multiple_of * (-(-hidden_dim // multiple_of))
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)

    def forward(self, x: Any) -> Any:
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))


class MLP(nn.Module):
    """Of its width alone, with four times as many features, whatever is asked for."""

    def __init__(self, n_embd: int):
        super().__init__()
        self.up = nn.Linear(n_embd, 4 * n_embd)
        self.down = nn.Linear(4 * n_embd, n_embd)

    def forward(self, x: Any) -> Any:
        return self.down(torch.relu(self.up(x)))


class GEGLU(nn.Module):
    def forward(self, x: Any) -> Any:
        value, gate = x.chunk(2, dim=-1)
        return value * nn.functional.gelu(gate)
