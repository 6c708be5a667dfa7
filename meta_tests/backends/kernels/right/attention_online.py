"""Attend to blocks of 16 keys, and rescale the sums when the maximum of the scores grows."""

from .._parts import *

domain = limit_sizes("scaled_dot_product_attention", n=100, m=100, d_k=64, d_v=64)


@triton.jit
def kernel(
    q,
    k,
    v,
    y,
    n,
    m,
    d_k,
    d_v,
    scale,
    CAUSAL: tl.constexpr,
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
    WIDE_K: tl.constexpr,
    WIDE_V: tl.constexpr,
):
    batch = tl.program_id(0).to(tl.int64)
    i, x, z = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None], tl.arange(0, WIDE_K), tl.arange(0, WIDE_V)[None, :]
    queries = tl.load(q + batch * n * d_k + i * d_k + x[None, :], mask=(i < n) & (x[None, :] < d_k), other=0.0)
    top, total = tl.full((ROWS, 1), float("-inf"), tl.float32), tl.zeros((ROWS, 1), tl.float32)
    sums = tl.zeros((ROWS, WIDE_V), tl.float32)
    for start in range(0, m, KEYS):
        j, down = start + tl.arange(0, KEYS)[None, :], start + tl.arange(0, KEYS)[:, None]
        keys = tl.load(k + batch * m * d_k + j * d_k + x[:, None], mask=(j < m) & (x[:, None] < d_k), other=0.0)
        values = tl.load(v + batch * m * d_v + down * d_v + z, mask=(down < m) & (z < d_v), other=0.0)
        seen = (j < m) & (j <= i) if CAUSAL else (j < m) & (i >= 0)
        scores = tl.where(seen, tl.dot(queries, keys, input_precision="ieee") * scale, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, axis=1, keep_dims=True))
        weights, fade = tl.exp(scores - higher), tl.exp(top - higher)
        total = total * fade + tl.sum(weights, axis=1, keep_dims=True)
        sums = sums * fade + tl.dot(weights, values, input_precision="ieee")
        top = higher
    tl.store(y + batch * n * d_v + i * d_v + z, sums / total, mask=(i < n) & (z < d_v))


def scaled_dot_product_attention(q, k, v, *, is_causal=False, scale=None):
    batch = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v = (a.expand(*batch, *a.shape[-2:]).contiguous() for a in (q, k, v))
    n, m, d_k, d_v = q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]
    y = q.new_empty(*batch, n, d_v)
    widths = {"WIDE_K": max(block_for(d_k), 16), "WIDE_V": max(block_for(d_v), 16)}
    grid = math.prod(batch), triton.cdiv(n, 16)
    scale = d_k**-0.5 if scale is None else scale
    kernel[grid](q, k, v, y, n, m, d_k, d_v, scale, CAUSAL=is_causal, ROWS=16, KEYS=16, **widths)
    return y
