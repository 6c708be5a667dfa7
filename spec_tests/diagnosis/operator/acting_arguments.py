"""An argument on which another one acts and should not, or should act and does not: a scaled bias, an unscaled zero point."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from reference_numpy._marks import float64

from ...calls.call import Call
from ...specification.registry import Specification
from .alternative import Alternative, Named, call_right

COST = 1.0


def list_acting_arguments(call: Call) -> Iterator[Alternative]:
    """Yield the right answers to calls in which an argument is multiplied with another of its shape, or divided by it."""
    spec = call.operation.spec
    if spec.is_gradient:
        return
    for one, other in _list_pairs(call):
        for is_divided, sign, reason in (
            (False, "·", "acts on it, and should not"),
            (True, "/", "does not act on it, and should"),
        ):
            said = f"{one} {sign} {other} is taken for {one}, as where {other} {reason}"
            yield Alternative(spec.name, said, partial(_compute, one=one, other=other, is_divided=is_divided), COST)


def _list_pairs(call: Call) -> Iterator[tuple[str, str]]:
    """Yield the pairs of an array and another real one of its shape, or a single number."""
    known = call.operation.spec.parameters
    arrays = [name for name, x in call.named.items() if isinstance(x, np.ndarray) and x.dtype.kind in "fi" and name in known]
    for one, other in permutations(arrays, 2):
        x, y = call.named[one], call.named[other]
        if x.size and y.dtype.kind == "f" and (x.shape == y.shape or (not y.shape and known[one].default is None)):
            yield one, other


def _compute(spec: Specification, named: Named, one: str, other: str, is_divided: bool) -> Any:
    x, y = named.get(one), named.get(other)
    if x is None or y is None:
        return call_right(spec, named)
    return call_right(spec, {**named, one: float64(x) / float64(y) if is_divided else float64(x) * float64(y)})
