"""Scales of blocks that go round along an axis: entry i has that of block i mod C, and not of block i // size."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification
from ..result_parts import map_parts
from .alternative import Alternative, Named, call_right, take

COST = 0.75
BLOCKED = MappingProxyType({  # the option with the blocks, the arrays that have them, and whether the result has them, too
    "quantize": ("block", ("x",), True),
    "dequantize": ("block", ("q",), True),
    "scaled_matmul": ("block_b", ("a", "b"), False),
})  # fmt: skip


def list_interleaved_blocks(call: Call) -> Iterator[Alternative]:
    """Yield the right answer to the call whose columns are in the order in which each block has every C-th one."""
    name = call.operation.name
    if name in BLOCKED and _find_order(name, call.named) is not None:
        said = f"along K, entry i has the scale of block i mod C, where {BLOCKED[name][0]} makes C blocks that follow one another"
        yield Alternative(name, said, _compute, COST)


def _find_order(name: str, named: Named) -> np.ndarray | None:
    """Return the order of the columns, None where there is one block, or where the blocks are not equally long."""
    option, arrays, _ = BLOCKED[name]
    block, columns = named.get(option), int(named[arrays[-1]].shape[-1])
    size = block[1] if block is not None else None
    if not size or columns % size or columns == size or named.get("scale_a") is not None:
        return None
    count = columns // size
    return np.argsort(np.arange(columns) % count, kind="stable") if columns else None


def _compute(spec: Specification, named: Named) -> Any:
    _, arrays, is_in_result = BLOCKED[spec.name]
    if (order := _find_order(spec.name, named)) is None:
        return call_right(spec, named)
    y = call_right(spec, {**named, **{name: take(named[name], order, -1) for name in arrays}})
    return map_parts(lambda part, x: take(x, np.argsort(order), -1), spec, y) if is_in_result else y
