"""Ring attention: each rank keeps its queries, and the keys and values go around, with a running maximum and sum."""

import math

import torch

from ._distributed_group import RANK, WORLD_SIZE, places_of, rotated
from ._torch_functions import _widened, in_float32

__all__ = ["attention_with_lse", "grouped_query_attention", "scaled_dot_product_attention"]


def _scores(q, k, seen, scale, rows, columns):
    """The scores of some queries and some keys, and which of them count. `rows` and `columns` are their places."""
    seen = seen.index_select(-2, rows).index_select(-1, columns)
    return torch.where(seen, q @ k.mT * scale, -math.inf), seen


class _Ring(torch.autograd.Function):
    """q (…, g, n, d), k (…, 1, m, d), v (…, 1, m, e), seen of all queries and keys -> out (…, g, n, e), lse (…, g, n)."""

    @staticmethod
    def forward(ctx, q, k, v, seen, scale, rows, columns):
        ctx.scale, ctx.places = scale, (rows, columns)
        top, total = q.new_full((*q.shape[:-1], 1), -math.inf), q.new_zeros((*q.shape[:-1], 1))
        out, ours = q.new_zeros((*q.shape[:-1], v.shape[-1])), (k, v)
        for step in range(WORLD_SIZE):
            origin = (RANK - step) % WORLD_SIZE
            if k.shape[-2]:
                scores, _ = _scores(q, k, seen, scale, rows[RANK], columns[origin])
                new = torch.maximum(top, scores.amax(-1, keepdim=True))
                shift = new.masked_fill(new == -math.inf, 0)
                e, old = torch.exp(scores - shift), torch.exp(top - shift)
                top, total, out = new, total * old + e.sum(-1, keepdim=True), out * old + e @ v
            k, v = _next(origin, columns, k, v)
        blind = total == 0
        total = total.masked_fill(blind, 1)
        out, lse = out / total, (top.masked_fill(blind, -math.inf) + total.log())[..., 0]
        ctx.save_for_backward(q, *ours, seen, out, lse)
        return out, lse

    @staticmethod
    def backward(ctx, g_out, g_lse):
        q, k, v, seen, out, lse = ctx.saved_tensors
        rows, columns = ctx.places
        dq, dk, dv = (torch.zeros_like(x) for x in (q, k, v))
        lse = lse[..., None]
        mean = (g_out * out).sum(-1, keepdim=True) - g_lse[..., None]
        for step in range(WORLD_SIZE):
            origin = (RANK - step) % WORLD_SIZE
            scores, visible = _scores(q, k, seen, ctx.scale, rows[RANK], columns[origin])
            p = torch.where(visible & (lse > -math.inf), torch.exp(scores - lse), 0)
            ds = p * (g_out @ v.mT - mean) * ctx.scale
            dq = dq + ds @ k
            dk = dk + (ds.mT @ q).sum(-3, keepdim=True)  # the queries of a group share their keys and values
            dv = dv + (p.mT @ g_out).sum(-3, keepdim=True)
            k, v, dk, dv = _next(origin, columns, k, v, dk, dv)
        return dq, dk, dv, None, None, None, None


def _next(origin, columns, *tensors):
    """The keys, values and their gradients of the rank before, after those of `origin`."""
    length = len(columns[(origin - 1) % WORLD_SIZE])
    return rotated(tensors, [(*x.shape[:-2], length, x.shape[-1]) for x in tensors])


def ring(q, k, v, mask, is_causal, scale, zigzag):
    """Attention of grouped heads and its lse, in float32 or wider. Each rank has some of the queries and of the keys."""
    if q.shape[:-3] != k.shape[:-3]:
        raise NotImplementedError("the batches of q and k differ")
    rows, columns = places_of(q, -2, zigzag), places_of(k, -2, zigzag)
    n, m = sum(map(len, rows)), sum(map(len, columns))
    seen = torch.ones(n, m, dtype=torch.bool)
    seen = seen.tril(m - n) if is_causal else seen
    heads, group = k.shape[-3], q.shape[-3] // k.shape[-3]
    if mask is not None:
        mask = mask.expand(torch.broadcast_shapes(mask.shape, (1, n, m)))
        seen = seen & (mask.unflatten(-3, (heads, group)) if mask.shape[-3] == q.shape[-3] else mask.unsqueeze(-3))
    q, (k, v) = q.unflatten(-3, (heads, group)), (x.unsqueeze(-3) for x in (k, v))
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    out, lse = _Ring.apply(q, k, v, seen, scale, rows, columns)
    return out.flatten(-4, -3), lse.flatten(-3, -2)


def attention_with_lse(q, k, v, mask=None, *, is_causal=False, scale=None):
    out, lse = ring(*_widened((q, k, v)), mask, is_causal, scale, zigzag=False)
    return out.to(q.dtype), lse


@in_float32
def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None):
    return ring(q, k, v, mask, is_causal, scale, zigzag=True)[0]


@in_float32
def scaled_dot_product_attention(q, k, v, mask=None, *, is_causal=False, scale=None):
    """One head: the axes of heads are made here."""
    if mask is not None and mask.dim() > 2:
        mask = mask.unsqueeze(-3)
    q, k, v = (x.unsqueeze(-3) for x in (q, k, v))
    return ring(q, k, v, mask, is_causal, scale, zigzag=False)[0].squeeze(-3)
