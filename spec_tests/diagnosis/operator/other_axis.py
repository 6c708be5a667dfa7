"""What runs along the axis before its own, as where arrays (batch, heads, tokens, d) are read as (batch, tokens, heads, d)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification, argument_dimensions
from ..result_parts import map_parts
from .alternative import Alternative, Named, call_right
from .axes import name_axes, plural

AXIS, BEFORE = -2, -3
COST = 1.0


def list_other_axis(call: Call) -> Iterator[Alternative]:
    """Yield the right answer to the call whose first array has its axes −2 and −3 exchanged, put back into its own order."""
    spec = call.operation.spec
    first = _first_array(spec, call.named)
    if first is None or spec.is_gradient:
        return
    names = name_axes(spec, first, call.named[first].ndim)
    said = f"axis −3 of {first} is taken for that of the {plural(names[AXIS])}"
    if along := _list_along(spec, call.named, first):
        said += f", with entry i of {' and '.join(along)} at its index i"
    yield Alternative(call.operation.name, said, _compute, COST)


def _first_array(spec: Specification, named: Named) -> str | None:
    """Return the first argument if it is an array of at least three axes."""
    name = spec.positional[0] if spec.positional else ""
    shape = getattr(named.get(name), "shape", ())
    return name if len(shape) > 2 and shape[AXIS] * shape[BEFORE] > 1 else None


def _list_along(spec: Specification, named: Named, first: str) -> list[str]:
    """Return the arrays with one entry for each index of axis −2, which are read from their beginning along the other axis."""
    length, dimensions = named[first].shape[AXIS], argument_dimensions(spec)
    along = dimensions.get(first, ())[AXIS:][:1]  # the dimension of that axis
    arrays = (name for name, own in dimensions.items() if len(own) == 1 and own == along)
    return [name for name in arrays if getattr(named.get(name), "shape", ()) == (length,)]


def _compute(spec: Specification, named: Named) -> Any:
    if (first := _first_array(spec, named)) is None:
        return call_right(spec, named)
    shape = named[first].shape
    own = (shape[BEFORE], shape[AXIS])
    changed = {name: _exchanged(x, own) for name, x in named.items()}
    for name in _list_along(spec, named, first):
        changed[name] = named[name][np.arange(own[0]) % own[1]] if own[1] else named[name]
    return map_parts(lambda part, y: _exchanged(y, own[::-1]), spec, call_right(spec, changed))


def _exchanged(x: Any, lengths: tuple[int, int]) -> Any:
    """Return an array with its axes −2 and −3 exchanged where they have these lengths, which are those of axes −3 and −2."""
    has_both = len(getattr(x, "shape", ())) > 2 and (x.shape[BEFORE], x.shape[AXIS]) == lengths
    return np.swapaxes(x, AXIS, BEFORE) if has_both else x
