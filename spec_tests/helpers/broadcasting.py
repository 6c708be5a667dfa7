"""Calls of operations whose arrays have different batch axes, which broadcast against one another."""

from __future__ import annotations

import numpy as np

from ..calls.call import Call
from ..calls.violation import NotImplementedVariant
from ..implementation.domain import broadcasts
from ..inputs.draw import Draw
from .batch import batch_shape, replace_arguments

MIN_BATCH_DIMS = 2  # with fewer, the missing axes could only be the first


def draw_call_with_unequal_batches(draw: Draw) -> Call:
    """Draw a call, and take from some of its arrays batch axes, or all entries of an axis but the first.

    The cotangent of a gradient stays as it is: the result has the batch of the largest.
    """
    domain = draw.operation.domain
    if domain.get("broadcast") is False:
        raise NotImplementedVariant("its domain has no batches that broadcast")
    call = draw.call()
    while len(batch_shape(call)) < MIN_BATCH_DIMS and len(batch_shape(call)) + 1 in domain.get("batch_dims", (1, 2)):
        call = _stack_another(call)
    names = [name for name in _batched_arguments(call) if name != "cotangent"]
    whole = draw.one_of(names)
    others = [name for name in names if name != whole]
    chosen = others if draw.one_of((False, True)) else [draw.one_of(others)]
    parts = {name: _take_smaller_batch(draw, call, name) for name in chosen}
    return replace_arguments(call, parts)


def _batched_arguments(call: Call) -> list[str]:
    """Return the names of the arrays that have the whole batch, the cotangent among them."""
    return [name for name in call.operation.spec.core if name in call.named and not broadcasts(call.operation.spec, name)]


def _stack_another(call: Call) -> Call:
    """Return the call with one more axis in front of the batch: its arrays, and half of their negatives.

    The entries are neither equal nor opposite: a mean in place of a sum shows only where entries differ and do not cancel.
    """
    names = [*_batched_arguments(call), *(["cotangent"] if "cotangent" in call.named else [])]
    return replace_arguments(call, {name: np.stack([x := call.named[name], -x / 2]) for name in dict.fromkeys(names)})


def _take_smaller_batch(draw: Draw, call: Call, name: str) -> np.ndarray:
    """Return the array without some axes of its batch, or with one entry along some of them."""
    x: np.ndarray = call.named[name]
    rank, ranks = x.ndim - call.operation.spec.core[name], draw.operation.domain.get("batch_dims")
    fewer = [x[(0,) * n] for n in (1, rank) if rank and (ranks is None or rank - n in ranks)]
    of_one = (range(rank - 1, rank), range(1, rank), range(1), range(rank))
    cut = [x[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(rank))] for axes in of_one]
    smaller = [part for part in (*cut[:2], *cut, *fewer) if part.shape != x.shape]  # a first axis alone may be read in turn
    if not smaller:
        raise NotImplementedVariant("its domain has no batches that broadcast")
    return smaller[draw.shape.integer(0, len(smaller) - 1)]
