"""Attend with one query to a program, all keys in one block, and powers of 2."""

from .._parts import *

domain = limit_sizes("scaled_dot_product_attention", n=40, m=100, d_k=64, d_v=64)


@triton.jit
def kernel(
    q, k, v, y, n, m, d_k, d_v, scale, CAUSAL: tl.constexpr, KEYS: tl.constexpr, WIDE_K: tl.constexpr, WIDE_V: tl.constexpr
):
    batch, i = tl.program_id(0).to(tl.int64), tl.program_id(1)
    j, x, z = tl.arange(0, KEYS), tl.arange(0, WIDE_K)[None, :], tl.arange(0, WIDE_V)[None, :]
    query = tl.load(q + (batch * n + i) * d_k + x, mask=x < d_k, other=0.0) * (scale * LOG2_E)
    keys = tl.load(k + (batch * m + j[:, None]) * d_k + x, mask=(j[:, None] < m) & (x < d_k), other=0.0)
    last = tl.minimum(i, m - 1) if CAUSAL else m - 1
    scores = tl.where(j <= last, tl.sum(query * keys, axis=1), float("-inf"))
    weights = tl.exp2(scores - tl.max(scores, axis=0))
    weights = weights / tl.sum(weights, axis=0)
    values = tl.load(v + (batch * m + j[:, None]) * d_v + z, mask=(j[:, None] < m) & (z < d_v), other=0.0)
    at = tl.arange(0, WIDE_V)
    tl.store(y + (batch * n + i) * d_v + at, tl.sum(weights[:, None] * values, axis=0), mask=at < d_v)


def scaled_dot_product_attention(q, k, v, *, is_causal=False, scale=None):
    batch = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v = (a.expand(*batch, *a.shape[-2:]).contiguous() for a in (q, k, v))
    n, m, d_k, d_v = q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]
    y = q.new_empty(*batch, n, d_v)
    blocks = {"KEYS": block_for(m), "WIDE_K": block_for(d_k), "WIDE_V": block_for(d_v)}
    scale = d_k**-0.5 if scale is None else scale
    kernel[(math.prod(batch), n)](q, k, v, y, n, m, d_k, d_v, scale, CAUSAL=is_causal, **blocks)
    return y
