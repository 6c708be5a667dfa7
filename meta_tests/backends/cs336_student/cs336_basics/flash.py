"""Attention in tiles of 16 keys, which keeps its lse for the gradient."""

import torch


class FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, is_causal=False):
        n, m, scale = q.shape[-2], k.shape[-2], q.shape[-1] ** -0.5
        top = q.new_full(q.shape[:-1], -torch.inf)
        total, out = torch.zeros_like(top), torch.zeros_like(q)
        rows = torch.arange(n)[:, None]
        for start in range(0, m, 16):
            keys, values = k[..., start : start + 16, :], v[..., start : start + 16, :]
            s = q @ keys.mT * scale
            if is_causal:
                s = s.masked_fill(rows < torch.arange(start, start + 16), -torch.inf)
            new = torch.maximum(top, s.amax(-1))
            p, shrink = torch.exp(s - new[..., None]), torch.exp(top - new)
            total = shrink * total + p.sum(-1)
            out = shrink[..., None] * out + p @ values
            top = new
        out, lse = out / total[..., None], top + total.log()
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.is_causal = is_causal
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, lse = ctx.saved_tensors
        scale = q.shape[-1] ** -0.5
        s = q @ k.mT * scale
        if ctx.is_causal:
            s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
        p = torch.exp(s - lse[..., None])
        inner = (grad * out).sum(-1, keepdim=True)
        ds = p * (grad @ v.mT - inner) * scale
        return ds @ k, ds.mT @ q, p.mT @ grad, None
