"""Flash decoding in Triton: each program attends to a part of the keys, and a second kernel merges the parts by their lse.

The query heads that share keys lie in one block. Keys lie in one array, in the pages of a table, or one sequence after the other.
Scores and sums are float32; weights are multiplied in the dtype of the values, as tensor cores want them. There is no float64.
"""

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl

QUERIES, KEYS, PART = 64, 32, 256  # rows and keys of a block, and the keys that a program reads where there is one block
MERGED, FEATURES = 2, 128  # rows that a program merges, and features at a time
STAGES = 2  # of the loads in flight, so that the blocks of wide heads fit the shared memory
FARTHER = 2**30  # a window that hides no key


@triton.jit
def _tanh(x):
    """A series near 0, where the quotient of exponentials would cancel."""
    s, e = x * x, tl.exp(-2 * tl.abs(x))
    near = x + x * s * (-1 / 3 + s * (2 / 15 + s * (-17 / 315 + s * (62 / 2835))))
    return tl.where(s < 0.0625, near, tl.where(x < 0, e - 1, 1 - e) / (1 + e))


@triton.jit
def _attend_to_part(
    q, k, v, outs, lses, table, first_query, query_count, first_key, key_count,
    rows, query_step, head_step, key_step, key_head_step, heads, group, pages, page_size, part, scale, cap, left, right,
    capped: tl.constexpr, paged: tl.constexpr, d_k: tl.constexpr, d_v: tl.constexpr,
    block_k: tl.constexpr, block_v: tl.constexpr, queries: tl.constexpr, keys: tl.constexpr,
):  # fmt: skip
    member, head = tl.program_id(0) // heads, tl.program_id(0) % heads  # a head of keys
    n, m = tl.load(query_count + member).to(tl.int32), tl.load(key_count + member).to(tl.int32)
    packed = tl.program_id(1) * queries + tl.arange(0, queries)
    i, h, shift = packed // group, head * group + packed % group, m - n  # the last query stands at the last key
    row = tl.load(first_query + member).to(tl.int64) + i * query_step + h * head_step
    x, y = tl.arange(0, block_k)[None, :], tl.arange(0, block_v)[None, :]
    q_block = tl.load(q + row[:, None] * d_k + x, mask=(i[:, None] < n) & (x < d_k), other=0.0)
    top, total = tl.full((queries,), float("-inf"), tl.float32), tl.zeros((queries,), tl.float32)
    sums = tl.zeros((queries, block_v), tl.float32)
    first, last = tl.program_id(1) * queries // group + shift, tl.minimum(tl.max(i), n - 1) + shift
    begin = tl.maximum(tl.program_id(2) * part, first - left)
    end = tl.minimum(tl.minimum(tl.program_id(2) * part + part, m), last + right + 1)
    for start in range(begin, end, keys):
        j = start + tl.arange(0, keys)
        there = j < end
        if paged:
            page = tl.load(table + member * pages + j // page_size, mask=there, other=0).to(tl.int64)
            place = (page * page_size + j % page_size) * key_step + head * key_head_step
        else:
            place = tl.load(first_key + member).to(tl.int64) + j * key_step + head * key_head_step
        k_block = tl.load(k + place[:, None] * d_k + x, mask=there[:, None] & (x < d_k), other=0.0)
        v_block = tl.load(v + place[:, None] * d_v + y, mask=there[:, None] & (y < d_v), other=0.0)
        scores = tl.dot(q_block, tl.trans(k_block), input_precision="ieee") * scale
        if capped:
            scores = cap * _tanh(scores / cap)
        away = j[None, :] - (i[:, None] + shift)
        seen = there[None, :] & (away >= -left) & (away <= right)
        scores = tl.where(seen, scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, axis=1))
        finite = tl.where(higher == float("-inf"), 0.0, higher)  # nothing seen yet
        weights, fade = tl.exp(scores - finite[:, None]), tl.exp(top - finite)
        total = total * fade + tl.sum(weights, axis=1)
        sums = sums * fade[:, None] + tl.dot(weights.to(v_block.dtype), v_block, input_precision="ieee")
        top = higher
    at = tl.program_id(2) * rows + row
    positive = tl.where(total == 0, 1.0, total)  # a query without any key: zero
    tl.store(outs + at[:, None] * d_v + y, sums / positive[:, None], mask=(i[:, None] < n) & (y < d_v))
    tl.store(lses + at, tl.where(total == 0, float("-inf"), top + tl.log(positive)), mask=i < n)


@triton.jit
def _merge(
    outs, lses, sinks, out, lse, count, parts, head_step, d, heads,
    sunk: tl.constexpr, rows: tl.constexpr, block: tl.constexpr, block_d: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)[:, None]
    part = tl.arange(0, block)[None, :]
    at = part * count + row
    s = tl.load(lses + at, mask=(part < parts) & (row < count), other=float("-inf"))
    top, sink = tl.max(s, axis=1, keep_dims=True), tl.full((rows, 1), float("-inf"), tl.float32)
    if sunk:
        sink = tl.load(sinks + row // head_step % heads, mask=row < count, other=0.0).to(tl.float32)
        top = tl.maximum(top, sink)
    top = tl.where(top == float("-inf"), 0.0, top)
    weights = tl.exp(s - top)
    total = tl.sum(weights, axis=1, keep_dims=True) + tl.exp(sink - top)
    positive = tl.where(total == 0, 1.0, total)  # a query without any key: zero
    tl.store(lse + row, tl.where(total == 0, float("-inf"), top + tl.log(positive)), mask=row < count)
    share, filled = (weights / positive)[:, :, None], (s > float("-inf"))[:, :, None]  # a part without keys may hold anything
    for start in range(0, d, block_d):
        y = start + tl.arange(0, block_d)[None, :]
        values = tl.load(outs + at[:, :, None] * d + y[:, None, :], mask=filled & (y < d)[:, None, :], other=0.0)
        merged = tl.sum(share * values.to(tl.float32), axis=1)
        tl.store(out + row * d + y, merged.to(out.dtype.element_ty), mask=(row < count) & (y < d))


class Rows(NamedTuple):
    """Where the rows of each member lie in an array whose last axis is d: row i of head h in first + i·step + h·head_step."""

    first: torch.Tensor
    count: torch.Tensor  # of each member
    longest: int  # of the counts
    heads: int
    step: int
    head_step: int


def merge_parts(outs, lses, dtype, sinks=None, head_step=1):
    """Merge the parts, which are the first axis, into one out of this dtype and one lse."""
    out, lse = torch.empty(outs.shape[1:], dtype=dtype, device=outs.device), torch.empty_like(lses[0])
    if out.numel():
        block, block_d = triton.next_power_of_2(len(outs)), min(triton.next_power_of_2(out.shape[-1]), FEATURES)
        sunk, heads = sinks is not None, 1 if sinks is None else len(sinks)
        sizes = {"sunk": sunk, "block": block, "block_d": block_d}
        given = outs.contiguous(), lses.contiguous(), sinks.contiguous() if sunk else lses
        grid = (triton.cdiv(lse.numel(), MERGED),)
        _merge[grid](*given, out, lse, lse.numel(), len(outs), head_step, out.shape[-1], heads, rows=MERGED, **sizes)
    return out, lse


def attend(q, k, v, queries, keys, sinks, is_causal, scale, softcap, left_window, right_window, table=None, page_size=1):
    """Attention of the queries of each member to its keys, and its lse. A query in the last row stands at the last key."""
    q, k, v, d_k, d_v = q.contiguous(), k.contiguous(), v.contiguous(), q.shape[-1], v.shape[-1]
    group, paged, rows = queries.heads // keys.heads, table is not None, math.prod(q.shape[:-1])
    block = min(max(triton.next_power_of_2(queries.longest * group), 16), QUERIES)
    blocks = triton.cdiv(queries.longest * group, block)
    part = PART if blocks == 1 else max(keys.longest, 1)  # several blocks are programs enough
    parts = max(triton.cdiv(keys.longest, part), 1)
    outs = torch.zeros(parts, *q.shape[:-1], d_v, dtype=torch.float32, device=q.device)
    lses = outs.new_full(outs.shape[:-1], -math.inf)
    if rows:
        grid = (len(queries.count) * keys.heads, blocks, parts)  # only the first may be beyond 65535
        right = 0 if is_causal else right_window  # a window to the right does not undo causality
        left, right = (FARTHER if limit is None else limit for limit in (left_window, right))
        _attend_to_part[grid](
            q, k, v, outs, lses, table.contiguous() if paged else keys.count,
            queries.first, queries.count, keys.first, keys.count,
            rows, queries.step, queries.head_step, keys.step, keys.head_step, keys.heads, group,
            table.shape[1] if paged else 1, page_size, part,
            1 / math.sqrt(d_k) if scale is None else scale, 1.0 if softcap is None else softcap, left, right,
            capped=softcap is not None, paged=paged, d_k=d_k, d_v=d_v, queries=block, keys=KEYS,
            block_k=max(triton.next_power_of_2(d_k), 16), block_v=max(triton.next_power_of_2(d_v), 16),
            num_stages=STAGES,
        )  # fmt: skip
    return merge_parts(outs, lses, q.dtype, sinks, queries.head_step)
