"""The classes of the course's lab 2: the lab's names, signatures and steps, the configuration that its own test has."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class ModelConfig:
    """The fields of the lab's configuration, with the values of its test."""

    vocab_size: int = 1000
    hidden_size: int = 256
    intermediate_size: int = 512
    num_hidden_layers: int = 2
    num_attention_heads: int = 4
    num_key_value_heads: int = 4
    max_position_embeddings: int = 512
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-6
    attention_dropout: float = 0.0
    hidden_act: str = "silu"
    use_rms_norm: bool = True
    use_rope: bool = True
    use_swiglu: bool = True


class LayerNorm(nn.Module):
    """Mean and biased variance in float32; gain and bias before the cast back."""

    def __init__(self, normalized_shape, eps=1e-5):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(normalized_shape)), nn.Parameter(torch.zeros(normalized_shape))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        h = h - h.mean(-1, keepdim=True)
        h = h / torch.sqrt(h.var(-1, keepdim=True, unbiased=False) + self.eps)
        return (h * self.weight + self.bias).to(x.dtype)


class RMSNorm(nn.Module):
    """Mean of squares in float32, its reciprocal root, and the gain before the cast back."""

    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(hidden_size)), eps

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps) * self.weight).to(x.dtype)


def rotate(x, positions, theta):
    """Turn feature k of the first half with feature k of the second, by angles in float32."""
    half = x.shape[-1] // 2
    angles = positions[..., None].float() * theta ** -(torch.arange(half, dtype=torch.float32) / half)
    cos, sin = angles.cos(), angles.sin()
    a, b = x.split(half, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class MultiHeadAttention(nn.Module):
    """Four square projections, rotation of q and k, keys and values of earlier calls, a mask that is added, softmax, dropout."""

    def __init__(self, config):
        super().__init__()
        width = config.hidden_size
        if width % config.num_attention_heads:
            raise ValueError(f"hidden_size {width} is no multiple of the {config.num_attention_heads} heads")
        self.config = config
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, hidden_states, position_ids=None, past_key_value=None, attention_mask=None, use_cache=False):
        heads = self.config.num_attention_heads
        q, k, v = (
            layer(hidden_states).unflatten(-1, (heads, -1)).transpose(1, 2) for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        if self.config.use_rope:
            first = 0 if past_key_value is None else past_key_value[0].shape[2]
            positions = first + torch.arange(q.shape[2]) if position_ids is None else position_ids
            positions = positions if positions.ndim == 1 else positions[:, None]
            q, k = (rotate(y, positions, self.config.rope_theta) for y in (q, k))
        if past_key_value is not None:
            k, v = (torch.cat(pair, dim=2) for pair in zip(past_key_value, (k, v), strict=True))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if attention_mask is not None:
            scores = scores + attention_mask
        weights = F.dropout(scores.softmax(-1), self.config.attention_dropout, self.training)
        mixed = (weights @ v).transpose(1, 2).flatten(-2)
        return self.o_proj(mixed), ((k, v) if use_cache else None)
