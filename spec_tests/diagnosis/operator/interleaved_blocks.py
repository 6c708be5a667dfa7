"""Scales of blocks that go round along an axis: entry i has that of block i mod C, and not of block i // size."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification
from .alternative import Alternative, Named, call_right, take

COST = 0.75
BLOCKED = MappingProxyType({  # the option with the blocks, and the arrays with an entry for each block
    "quantize": ("block", ("scale", "zero_point")),
    "dequantize": ("block", ("scale", "zero_point", "bias")),
    "scaled_matmul": ("block_b", ("scale_b", "zero_point_b")),
})  # fmt: skip
MATRICES = MappingProxyType({"quantize": "x", "dequantize": "q", "scaled_matmul": "b"})


def list_interleaved_blocks(call: Call) -> Iterator[Alternative]:
    """Yield the right answer to the call in which each column is a block of its own, with the scale of a block in turn."""
    name = call.operation.name
    if name in BLOCKED and _count_blocks(name, call.named) > 1:
        said = f"along K, entry i has the scale of block i mod C, where {BLOCKED[name][0]} makes C blocks that follow one another"
        yield Alternative(name, said, _compute, COST)


def _count_blocks(name: str, named: Named) -> int:
    """Return how many blocks there are along the columns, 0 where the columns are no blocks."""
    option, arrays = BLOCKED[name]
    block, scale = named.get(option), named.get(arrays[0])
    return 0 if block is None or not block[1] or scale is None else int(scale.shape[-1])


def _compute(spec: Specification, named: Named) -> Any:
    option, arrays = BLOCKED[spec.name]
    if (count := _count_blocks(spec.name, named)) < 2:
        return call_right(spec, named)
    turn = np.arange(named[MATRICES[spec.name]].shape[-1]) % count
    changed = {name: take(named[name], turn, -1) for name in arrays if named.get(name) is not None}
    return call_right(spec, {**named, **changed, option: (named[option][0], 1)})
