"""Decode from a cache: programs attend to parts of 16 slots each, and a second kernel merges the parts."""

from .._parts import *

domain = limit_sizes("attention_with_kv_cache", n=6, M=60, d_k=32, d_v=32)


@triton.jit
def parts_kernel(
    q,
    k,
    v,
    lengths,
    outs,
    tops,
    sums,
    n,
    m,
    heads,
    group,
    d_k,
    d_v,
    scale,
    CAUSAL: tl.constexpr,
    KEYS: tl.constexpr,
    WIDE_K: tl.constexpr,
    WIDE_V: tl.constexpr,
):
    row, part, parts = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.num_programs(1)
    i, head, batch = row % n, row // n % heads, row // n // heads
    shared = (batch * (heads // group) + head // group).to(tl.int64) * m
    length = tl.load(lengths + batch).to(tl.int32)
    j, x, z = part * KEYS + tl.arange(0, KEYS), tl.arange(0, WIDE_K)[None, :], tl.arange(0, WIDE_V)
    there = j < length
    query = tl.load(q + row * d_k + x, mask=x < d_k, other=0.0)
    keys = tl.load(k + (shared + j[:, None]) * d_k + x, mask=there[:, None] & (x < d_k), other=0.0)
    seen = there & (j <= length - n + i) if CAUSAL else there
    scores = tl.where(seen, tl.sum(query * keys, axis=1) * scale, float("-inf"))
    top = tl.max(scores, axis=0)
    weights = tl.exp(scores - tl.where(top == float("-inf"), 0.0, top))
    values = tl.load(v + (shared + j[:, None]) * d_v + z[None, :], mask=seen[:, None] & (z[None, :] < d_v), other=0.0)
    at = row * parts + part
    tl.store(outs + at * d_v + z, tl.sum(weights[:, None] * values, axis=0), mask=z < d_v)
    tl.store(tops + at, top)
    tl.store(sums + at, tl.sum(weights, axis=0))


@triton.jit
def merge_kernel(outs, tops, sums, y, parts, d_v, BLOCK: tl.constexpr, WIDE_V: tl.constexpr):
    row, part, z = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK), tl.arange(0, WIDE_V)
    t = tl.load(tops + row * parts + part, mask=part < parts, other=float("-inf"))
    s = tl.load(sums + row * parts + part, mask=part < parts, other=0.0)
    top = tl.max(t, axis=0)
    weights = tl.exp(t - tl.where(top == float("-inf"), 0.0, top))
    total = tl.sum(weights * s, axis=0)
    there = (part[:, None] < parts) & (z[None, :] < d_v)
    values = tl.load(outs + (row * parts + part[:, None]) * d_v + z[None, :], mask=there, other=0.0)
    tl.store(y + row * d_v + z, tl.sum(weights[:, None] * values, axis=0) / tl.where(total == 0, 1.0, total), mask=z < d_v)


conventions = {"fully_masked_rows": "zero"}


def attention_with_kv_cache(q, k_cache, v_cache, lengths, *, is_causal=True, scale=None):
    q, k, v, lengths = (x.contiguous() for x in (q, k_cache, v_cache, lengths))
    heads, n, d_k, m, d_v = *q.shape[-3:], *v.shape[-2:]
    rows, parts = q.numel() // d_k, triton.cdiv(m, 16)
    outs, y = q.new_empty(rows, parts, d_v), q.new_empty(*q.shape[:-1], d_v)
    tops, sums = q.new_empty(rows, parts), q.new_empty(rows, parts)
    widths = {"KEYS": 16, "WIDE_K": block_for(d_k), "WIDE_V": block_for(d_v)}
    sizes = n, m, heads, heads // k.shape[-3], d_k, d_v
    scale = d_k**-0.5 if scale is None else scale
    parts_kernel[(rows, parts)](q, k, v, lengths, outs, tops, sums, *sizes, scale, CAUSAL=is_causal, **widths)
    merge_kernel[(rows,)](outs, tops, sums, y, parts, d_v, BLOCK=block_for(parts), WIDE_V=widths["WIDE_V"])
    return y
