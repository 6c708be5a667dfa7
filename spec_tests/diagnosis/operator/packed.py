"""Numbers of four bits in another order: code may read or write the byte or the word that holds several from its other end.

The formats of more bits, which the same code reads one by one, stay in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.narrow_formats import NARROW_FORMATS
from ...specification.registry import Specification
from ..result_parts import map_parts, say_part, split_parts
from .alternative import Alternative, Named, call_right, take
from .axes import name_axes, plural
from .binding import bound
from .indices import IndexMap, list_plain_maps

SHARED_BITS = 4  # of numbers that share a byte
WORDS = "of formats of four bits"


def list_packed(call: Call) -> Iterator[Alternative]:
    """Yield results, and right answers to arguments, whose numbers of four bits have another order along the last axis."""
    spec, name = call.operation.spec, call.operation.name
    for part, y in split_parts(call, np.asarray(call.value)).items():
        if _shares_bytes(spec, call.named, part) and y.ndim and y.shape[-1] > 1:
            for turn in list_plain_maps(y.shape[-1]):
                said = _say(spec, part, say_part(spec, part), y.ndim, turn)
                yield Alternative(name, said, None, 0.75 + turn.cost, change=bound(_turn_result, part, turn))
    arrays = [n for n, x in call.named.items() if isinstance(x, np.ndarray) and n in spec.parameters and x.ndim]
    codes = [n for n in arrays if n in spec.declaration.formats and n not in spec.declaration.as_codes]
    codes = [n for n in codes if not n.startswith("scale")] if len(codes) > 1 else codes
    shared = [n for n in codes if _shares_bytes(spec, call.named, n) and call.named[n].shape[-1] > 1]
    for names in dict.fromkeys((*((n,) for n in shared), tuple(codes) if shared else ())):
        if names:
            x = call.named[shared[0]]
            for turn in list_plain_maps(x.shape[-1]):
                said = _say(spec, shared[0], " and ".join(names), x.ndim, turn)
                yield Alternative(name, said, _turned(names, turn), 1.25 + turn.cost + 0.25 * (len(names) > 1))


def _say(spec: Specification, array: str, said: str, ndim: int, turn: IndexMap) -> str:
    one = name_axes(spec, array, ndim)[-1]
    return f"in {said}, {WORDS}, {turn.say(one, plural(one))}"


def _shares_bytes(spec: Specification, named: Mapping[str, Any], array: str) -> bool:
    """Whether an argument, or a result, has a format of so few bits in this call."""
    keyword = spec.declaration.formats.get(array)
    f = NARROW_FORMATS.get(str(named.get(keyword, spec.defaults.get(keyword)))) if keyword else None
    return f is not None and f.bits == SHARED_BITS


def _turn(x: Any, turn: IndexMap) -> Any:
    return take(x, turn.source(np.arange(x.shape[-1]), x.shape[-1], {}), -1)


def _turn_result(spec: Specification, named: Named, right: Any, part: str, turn: IndexMap) -> Any:
    if not _shares_bytes(spec, named, part):
        return right
    return map_parts(lambda name, y: _turn(y, turn) if name == part else y, spec, right)


def _turned(names: tuple[str, ...], turn: IndexMap) -> Callable[[Specification, Named], Any]:
    def compute(spec: Specification, named: Named) -> Any:
        moved = {n: _turn(named[n], turn) for n in names if named.get(n) is not None and _shares_bytes(spec, named, n)}
        return call_right(spec, {**named, **moved})

    return compute
