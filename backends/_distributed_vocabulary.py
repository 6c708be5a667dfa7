"""What is cut along the vocabulary: each rank has some rows of the table, or some of the logits."""

import math

import torch
import torch.distributed as dist

from ._distributed_group import RANK, all_reduce, copied, places_of, summed
from ._torch_functions import _widened, in_float32

__all__ = ["cross_entropy", "embedding", "linear_cross_entropy", "log_softmax", "logsumexp", "softmax"]


def _place(ids, places):
    """The place of each id among this rank's rows, and one past the last for an id of another rank."""
    mine = places[RANK]
    first = sum(len(p) for p in places[:RANK])
    here = (ids >= first) & (ids < first + len(mine))
    return torch.where(here, ids - first, len(mine))


@in_float32
def embedding(token_ids, weight):
    """Each rank looks up the ids of its own rows. The other rows are zero, and the sum over the ranks is exact."""
    padded = torch.cat([weight, weight.new_zeros(1, weight.shape[1])])
    rows = padded.index_select(0, _place(token_ids, places_of(weight, 0)).flatten())
    return summed(rows.reshape(*token_ids.shape, weight.shape[1]))


def _top(x):
    """The maximum of each row over all ranks, and 0 in place of an infinite one. It cancels: nothing to differentiate."""
    filled = torch.cat([x.detach(), x.new_full((*x.shape[:-1], 1), -math.inf)], dim=-1)  # a rank may have no column
    return all_reduce(filled.amax(-1, keepdim=True), dist.ReduceOp.MAX)


def _exponentials(x):
    """exp(x - m), and its sum over all ranks, which each rank uses for its own columns."""
    e = torch.exp(x - _top(x))
    return e, copied(summed(e.sum(-1, keepdim=True)))


@in_float32
def softmax(x, *, axis):
    e, total = _exponentials(x)
    return e / total


@in_float32
def log_softmax(x, *, axis):
    shifted = x - _top(x)
    return shifted - copied(summed(shifted.exp().sum(-1, keepdim=True))).log()


@in_float32
def logsumexp(x, *, axis):
    """The result is whole: every rank has it, and its cotangent."""
    top = _top(x)
    top = top.masked_fill(top.isinf(), 0)
    return (top + summed(torch.exp(x - top).sum(-1, keepdim=True)).log()).squeeze(-1)


def cross_entropy(logits, targets, *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, softcap=None, reduction="mean"):
    z, ids = _widened(logits).reshape(targets.numel(), logits.shape[-1]), targets.flatten()
    z = z if softcap is None else softcap * torch.tanh(z / softcap)
    places, kept = places_of(z, -1), ids != ignore_index
    lse = logsumexp(z, axis=-1)
    padded = torch.cat([z, z.new_zeros(len(z), 1)], dim=-1)
    loss = lse - summed(padded.gather(-1, _place(ids, places)[:, None])[:, 0])
    if label_smoothing:
        mean = summed(z.sum(-1)) / sum(map(len, places))
        loss = (1 - label_smoothing) * loss + label_smoothing * (lse - mean)
    loss = (loss + z_loss * lse.square()).where(kept, 0)
    if reduction == "none":
        return loss.reshape(targets.shape)
    return loss.sum() if reduction == "sum" else loss.sum() / kept.sum()


def linear_cross_entropy(x, weight, targets, **options):
    """Each rank has some rows of the head, and so some of the logits."""
    return cross_entropy(copied(_widened(x)) @ _widened(weight).mT, targets, **options)
