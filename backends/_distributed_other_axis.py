"""Layers that are cut along the other axis: outputs of linear, hidden units of norms, tokens of a feed-forward network."""

import torch
import torch.distributed as dist

from . import _torch_functions as whole
from ._distributed_group import all_reduce, copied, places_of, summed
from ._torch_functions import in_float32

__all__ = ["layer_norm", "linear", "rms_norm", "swiglu"]


@in_float32
def linear(x, weight, bias=None):
    """Column-parallel: each rank has some of the outputs, with their biases."""
    return whole.linear(copied(x), weight, bias)


@in_float32
def swiglu(x, w1, w2, w3, b1=None, b2=None, b3=None):
    """Each rank has some of the tokens and all weights, as under data parallelism: gradients of weights are summed."""
    return whole.swiglu(x, *(None if w is None else copied(w) for w in (w1, w2, w3, b1, b2, b3)))


def _scaled(x):
    """Each row divided by a power of two that no rank's elements exceed, and that power: now no square overflows."""
    padded = torch.cat([x.detach().abs(), x.new_ones((*x.shape[:-1], 1))], dim=-1)
    largest = all_reduce(padded.amax(-1, keepdim=True), dist.ReduceOp.MAX)
    power = largest / (2 * torch.frexp(largest).mantissa)
    return x / power, power


def _normed(h, eps, width):
    mean_square = copied(summed(h.square().sum(-1, keepdim=True))) / width + eps
    return h / torch.sqrt(mean_square.clamp(min=torch.finfo(h.dtype).tiny))


def _width(x):
    return sum(map(len, places_of(x, -1)))


@in_float32
def rms_norm(x, weight, *, eps):
    """Each rank has some of the hidden units: the mean is over those of all ranks."""
    h, s = _scaled(x)
    return _normed(h, eps / s / s, _width(x)) * weight


@in_float32
def layer_norm(x, weight, bias, *, eps):
    (h, s), width = _scaled(x), _width(x)
    mean = copied(summed(h.sum(-1, keepdim=True))) / width
    return _normed(h - mean, eps / s / s, width) * weight + bias
