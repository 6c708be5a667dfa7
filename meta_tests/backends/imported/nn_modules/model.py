"""The modules of a Llama-like model: no configuration, separate projections, a gated feed-forward layer."""

import torch
from torch import nn
from torch.nn import functional


class Linear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.kernel = nn.Parameter(torch.zeros(in_features, out_features))

    def forward(self, x):
        return x @ self.kernel


class Embedding(nn.Embedding):
    pass


class SiLU(nn.Module):
    def forward(self, x):
        return functional.silu(x)


class NewGELU(nn.Module):
    def forward(self, x):
        return functional.gelu(x, approximate="tanh")


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(d_model, d_ff, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class SiluAndMul(nn.Module):
    def forward(self, x):
        gate, up = x.chunk(2, dim=-1)
        return functional.silu(gate) * up


class Softmax(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.softmax(x, self.dim)


class SelfAttention(nn.Module):
    def __init__(self, hidden_size, num_attention_heads):
        super().__init__()
        self.heads = num_attention_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(hidden_size, hidden_size) for _ in range(4))

    def forward(self, hidden_states):
        q, k, v = (
            p(hidden_states).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        y = functional.scaled_dot_product_attention(q, k, v)
        return self.o_proj(y.transpose(1, 2).flatten(2))
