"""Add the sums of the splits of a row as they are, each being relative to the maximum of its own split."""

from ..right.logsumexp_split_rows import *

operation = "logsumexp"
says = ("not rescaled",)


@triton.jit
def wrong_merge_kernel(tops, sums, y, parts, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.arange(0, BLOCK)
    t = tl.load(tops + row * parts + part, mask=part < parts, other=float("-inf"))
    s = tl.load(sums + row * parts + part, mask=part < parts, other=0.0)
    tl.store(y + row, tl.max(t, axis=0) + tl.log(tl.sum(s, axis=0)))


def logsumexp_rows(x):
    parts = triton.cdiv(x.shape[1], 32)
    tops, sums, y = x.new_empty(len(x), parts), x.new_empty(len(x), parts), x.new_empty(len(x))
    parts_kernel[(len(x), parts)](x, tops, sums, x.shape[1], BLOCK=32)
    wrong_merge_kernel[(len(x),)](tops, sums, y, parts, BLOCK=block_for(parts))
    return y


def logsumexp(x, *, axis):
    return over_axis(logsumexp_rows, x, axis) if x.shape[axis] else x.new_full(x.sum(axis).shape, -math.inf)
