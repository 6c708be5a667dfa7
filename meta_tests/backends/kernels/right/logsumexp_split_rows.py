"""Split each row among programs, whose maxima and sums a second kernel merges."""

from .._parts import *

domain = limit_sizes("logsumexp", n=100)


@triton.jit
def parts_kernel(x, tops, sums, n, BLOCK: tl.constexpr):
    row, part, parts = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.num_programs(1)
    at = part * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row.to(tl.int64) * n + at, mask=at < n, other=float("-inf"))
    top = tl.max(v, axis=0)
    tl.store(tops + row * parts + part, top)
    tl.store(sums + row * parts + part, tl.sum(tl.exp(v - tl.where(top == float("-inf"), 0.0, top)), axis=0))


@triton.jit
def merge_kernel(tops, sums, y, parts, BLOCK: tl.constexpr):
    row, part = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    t = tl.load(tops + row * parts + part, mask=part < parts, other=float("-inf"))
    s = tl.load(sums + row * parts + part, mask=part < parts, other=0.0)
    top = tl.max(t, axis=0)
    shift = tl.where(top == float("-inf"), 0.0, top)
    tl.store(y + row, top + tl.log(tl.sum(s * tl.exp(t - shift), axis=0)))


def logsumexp_rows(x):
    parts = triton.cdiv(x.shape[1], 32)
    tops, sums, y = x.new_empty(len(x), parts), x.new_empty(len(x), parts), x.new_empty(len(x))
    parts_kernel[(len(x), parts)](x, tops, sums, x.shape[1], BLOCK=32)
    merge_kernel[(len(x),)](tops, sums, y, parts, BLOCK=block_for(parts))
    return y


def logsumexp(x, *, axis):
    return over_axis(logsumexp_rows, x, axis) if x.shape[axis] else x.new_full(x.sum(axis).shape, -math.inf)
