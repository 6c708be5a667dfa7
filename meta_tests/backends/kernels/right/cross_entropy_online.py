"""Read the logits of a row in blocks, with a running maximum and a rescaled sum."""

from .._parts import *

domain = limit_sizes("cross_entropy", vocab=100)


@triton.jit
def kernel(logits, targets, losses, vocab, ignore_index, BLOCK: tl.constexpr):
    row, target = tl.program_id(0).to(tl.int64) * vocab, tl.load(targets + tl.program_id(0).to(tl.int64))
    top, total = float("-inf"), 0.0
    for start in range(0, vocab, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(logits + row + at, mask=at < vocab, other=float("-inf"))
        higher = tl.maximum(top, tl.max(v, axis=0))
        shift = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(v - shift), axis=0)
        top = higher
    kept = target != ignore_index
    loss = top + tl.log(total) - tl.load(logits + row + target, mask=kept, other=0.0)
    tl.store(losses + tl.program_id(0).to(tl.int64), tl.where(kept, loss, 0.0))


def cross_entropy(logits, targets, *, ignore_index=-100, reduction="mean"):
    rows, targets = as_rows(logits), targets.contiguous()
    losses = rows.new_empty(len(rows))
    kernel[(len(rows),)](rows, targets, losses, rows.shape[1], ignore_index, BLOCK=64)
    if reduction == "none":
        return losses.reshape(targets.shape)
    return losses.sum() if reduction == "sum" else losses.sum() / (targets != ignore_index).sum()
