"""The process group of the sharded PyTorch backends, where shards lie in the whole, and collectives that autograd passes through.

A value is either the same on all ranks (whole), or each rank has another part of it. Between the two stand the collectives: each
says what it does forward, and what to the gradients.
"""

import os

import torch
import torch.distributed as dist

RANK, WORLD_SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.set_num_threads(1)  # the ranks share the machine
dist.init_process_group("gloo", init_method=f"file://{os.environ['SPEC_TESTS_STORE']}", rank=RANK, world_size=WORLD_SIZE)


def all_reduce(x, op=dist.ReduceOp.SUM):
    """The sum, or another reduction, of a tensor over the ranks."""
    x = x.detach().contiguous().clone()
    dist.all_reduce(x, op)
    return x


class _Summed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return all_reduce(x)

    @staticmethod
    def backward(ctx, g):
        return g


class _Copied(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return all_reduce(g)


def summed(x):
    """The sum of each rank's part, which is whole: the gradient of each part is that of the sum."""
    return _Summed.apply(x)


def copied(x):
    """A whole value that each rank uses in its own way: its gradient is the sum of all ranks' gradients."""
    return _Copied.apply(x)


def places_of(local, axis, zigzag=False):
    """Where this rank's elements lie along the whole axis, and those of every rank: lists of tensors of indices."""
    length = int(all_reduce(torch.tensor([local.shape[axis]], dtype=torch.int64)))
    pieces = torch.arange(length).tensor_split(2 * WORLD_SIZE if zigzag else WORLD_SIZE)
    return [torch.cat([pieces[r], pieces[-1 - r]]) for r in range(WORLD_SIZE)] if zigzag else list(pieces)


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, axis, places):
        ctx.axis, ctx.mine = axis, places[RANK]
        shape = list(x.shape)
        shape[axis] = sum(map(len, places))
        return all_reduce(x.new_zeros(shape).index_copy(axis, ctx.mine, x))

    @staticmethod
    def backward(ctx, g):
        return all_reduce(g).index_select(ctx.axis, ctx.mine), None, None


def gathered(x, axis, places):
    """All ranks' parts along an axis, which each rank uses in its own way: the gradients of all ranks are summed and cut."""
    return _Gathered.apply(x, axis, places)


def rotated(tensors, shapes):
    """Send tensors to the next rank, and return those of the rank before, which have these shapes."""
    if WORLD_SIZE == 1:
        return tensors
    received = [x.new_empty(shape) for x, shape in zip(tensors, shapes, strict=True)]
    sent = [dist.isend(x.contiguous(), (RANK + 1) % WORLD_SIZE, tag=i) for i, x in enumerate(tensors) if x.numel()]
    for i, x in enumerate(received):
        if x.numel():
            dist.recv(x, (RANK - 1) % WORLD_SIZE, tag=i)
    for work in sent:
        work.wait()
    return received
