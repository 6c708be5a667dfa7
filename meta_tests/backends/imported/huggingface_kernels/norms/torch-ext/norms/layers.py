"""Layers that read the parameters of the module that they replace."""

import torch
from torch import nn


class LlamaRMSNorm(nn.Module):
    weight: torch.Tensor
    variance_epsilon: float

    def forward(self, hidden_states):
        h = hidden_states.double()
        h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.variance_epsilon)
        return (h * self.weight.double()).to(hidden_states.dtype)


class LayerNorm(nn.Module):
    weight: torch.Tensor
    bias: torch.Tensor
    eps: float

    def forward(self, x):
        h = nn.functional.layer_norm(x.double(), x.shape[-1:], self.weight.double(), self.bias.double(), self.eps)
        return h.to(x.dtype)
