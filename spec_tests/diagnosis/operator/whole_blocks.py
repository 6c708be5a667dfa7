"""Counts that wrong code rounds to whole blocks: the entries of an array of integers, to multiples of a size or of a constant."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ...calls.call import Call
from ...calls.in_domain import sizes_of
from ...specification.registry import Specification
from .alternative import Alternative, Named, call_right
from .indices import BLOCKS

COST = 0.75


def list_whole_blocks(call: Call) -> Iterator[Alternative]:
    """Yield the right answers to the call with the entries of one of its arrays rounded down, or up, to whole blocks."""
    spec = call.operation.spec
    for name, x in call.named.items():
        if isinstance(x, np.ndarray) and x.dtype.kind in "iu" and x.size and not spec.is_gradient:
            for label, size in _list_sizes(spec, call.named):
                if size > 1 and np.any(x % size) and np.max(x) > 0:
                    yield from _list_roundings(call.operation.name, name, label, size)


def _list_sizes(spec: Specification, named: Named) -> Iterator[tuple[str, int]]:
    """Yield the sizes of blocks and pages that a call has, by their names, and the usual ones."""
    yield from _named_sizes(spec, named).items()
    yield from (("", block) for block in BLOCKS)


def _named_sizes(spec: Specification, named: Named) -> dict[str, int]:
    options = {name: x for name, x in named.items() if isinstance(x, int) and not isinstance(x, bool)}
    return {name: size for name, size in {**sizes_of(spec, named), **options}.items() if name.endswith("_size")}


def _list_roundings(operation: str, name: str, label: str, size: int) -> Iterator[Alternative]:
    for upward, word in ((False, "down"), (True, "up")):
        said = f"each entry of {name} is rounded {word} to a multiple of {label or size}"
        compute = partial(_compute, argument=name, label=label, constant=size, upward=upward)
        yield Alternative(operation, said, compute, COST + (0.0 if label else 0.25))


def _compute(spec: Specification, named: Named, argument: str, label: str, constant: int, upward: bool) -> Any:
    x = named.get(argument)
    size = _named_sizes(spec, named).get(label, 0) if label else constant
    if x is None or not size:
        return call_right(spec, named)
    rounded = -(-x // size) * size if upward else x // size * size
    return call_right(spec, {**named, argument: rounded})
