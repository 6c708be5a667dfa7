"""A linear-attention layer as in Qwen3-Next, in PyTorch: chunk by chunk for several tokens, one step for a single one."""

import torch
from torch.nn import functional as F

EPS, CHUNK = 1e-6, 16


def heads_of(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(-2, -3)


def convolve(x, taps, columns):
    """x (..., d, n). The columns are the last inputs of the calls before."""
    past = taps.shape[-1] - 1
    columns = x.new_zeros(*x.shape[:-1], past) if columns is None else columns
    padded = torch.cat([columns, x], dim=-1)
    out = sum(padded[..., j : j + x.shape[-1]] * taps[:, j, None] for j in range(past + 1))
    return F.silu(out), padded[..., x.shape[-1] :].clone()


def step(q, k, v, g, beta, state):
    """One token."""
    state = state * g.exp()
    written = beta[..., None] * (v - (k @ state))
    state = state + k.mT * written
    return q @ state, state


def chunk(q, k, v, g, beta, state):
    """Some tokens at once: what they write depends on each other, and is solved for."""
    total = g[..., 0].cumsum(-1)
    between = (total[..., :, None] - total[..., None, :]).tril().exp().tril()
    lower = beta[..., None] * (k @ k.mT * between).tril(-1)
    written = beta[..., None] * (v - (k * total.exp()[..., None]) @ state)
    written = torch.linalg.solve_triangular(lower + torch.eye(lower.shape[-1]).to(lower), written, upper=False)
    out = (q * total.exp()[..., None]) @ state + (q @ k.mT * between) @ written
    left = (total[..., -1:] - total).exp()[..., None]
    return out, total[..., -1, None, None].exp() * state + (k * left).mT @ written


def delta_rule(q, k, v, g, beta, state):
    q, k = (x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt() for x in (q, k))
    q, k = (x.repeat_interleave(v.shape[-3] // x.shape[-3], dim=-3) for x in (q * q.shape[-1] ** -0.5, k))
    state = v.new_zeros(*v.shape[:-2], k.shape[-1], v.shape[-1]) if state is None else state
    if v.shape[-2] == 1:
        return step(q, k, v, g, beta, state)
    outs = [v[..., :0, :]]
    for parts in zip(*(x.split(CHUNK, dim=2 if x.ndim == 3 else -2) for x in (q, k, v, g, beta)), strict=True):
        if parts[0].shape[-2]:
            out, state = chunk(*parts, state)
            outs.append(out)
    return torch.cat(outs, dim=-2), state.clone()


def gated_norm(x, gate, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight * F.silu(gate)


def linear_attention_block(x, weights, columns=None, state=None):
    h, h_k = len(weights["a_log"]), weights["key_heads"]
    mixed, columns = convolve(F.linear(x, weights["w_qkv"]).mT, weights["taps"], columns)
    d = h_k * weights["key_width"]
    q, k, v = mixed.mT.split([d, d, mixed.shape[-2] - 2 * d], dim=-1)
    q, k, v = heads_of(q, h_k), heads_of(k, h_k), heads_of(v, h)
    a = F.linear(x, weights["w_a"]).mT[..., None]
    g = -weights["a_log"].exp()[:, None, None] * F.softplus(a + weights["dt_bias"][:, None])
    beta = F.linear(x, weights["w_b"]).sigmoid().mT
    read, state = delta_rule(q, k, v, g, beta, state)
    read = gated_norm(read, heads_of(F.linear(x, weights["w_z"]), h), weights["norm"])
    return F.linear(read.transpose(-2, -3).flatten(-2), weights["w_o"]), columns, state
