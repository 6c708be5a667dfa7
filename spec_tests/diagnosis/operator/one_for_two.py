"""One optional argument in the place of another, whether that is given or not: the scale of keys for that of values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification, argument_dimensions
from .alternative import Alternative, Named, call_right

COST = 1.0


def list_one_for_two(call: Call) -> Iterator[Alternative]:
    """Yield the right answers to calls in which one optional array stands for another with the same dimensions."""
    spec, dimensions = call.operation.spec, argument_dimensions(call.operation.spec)
    optional = [name for name in dimensions if name in spec.parameters and spec.parameters[name].default is None]
    for given, used in permutations(optional, 2):
        if isinstance(call.named.get(used), np.ndarray) and dimensions[given] == dimensions[used] and not spec.is_gradient:
            said = f"{used} is taken for {given}, whether that is given or not"
            yield Alternative(spec.name, said, partial(_compute, given=given, used=used), COST)


def _compute(spec: Specification, named: Named, given: str, used: str) -> Any:
    one, other = named.get(given), named.get(used)
    fits = other is not None and (one is None or one.shape == other.shape)
    return call_right(spec, {**named, given: other} if fits else named)
