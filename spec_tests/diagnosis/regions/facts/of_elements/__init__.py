"""The facts of the elements of a result, one family a file. A file is registered by its presence.

Each has `read(place)`, which yields facts with their values in the elements, as arrays that broadcast to the shape of the
result, and `ORDER`, the place of the family: where two facts tell the same, that of the family with the smaller number is said.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from .....calls.call import Call
from ._element_fact import ElementFact, Place

__all__ = ["ElementFact", "Place", "describe_elements", "readers"]

_WITH_HEADS = ("grouped_query_attention", "alibi_bias")
_CORE_AXES = ("head", "row", "column")
_PART_AXES = ("batch entry", "row", "column")
_HEADS = ("h", "h_k", "h_kv", "g")  # the labels of axes of heads

Read = Callable[[Place], Iterator[tuple[ElementFact, np.ndarray]]]


@cache
def readers() -> tuple[Read, ...]:
    """Return what reads each family of facts, in their order."""
    names = (path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return tuple(module.read for module in sorted(modules, key=lambda module: module.ORDER))


def describe_elements(call: Call) -> dict[ElementFact, np.ndarray]:
    """Return the facts of every element of the result, each as a flat array. What an array lacks of them is NaN."""
    places = _list_places(call)
    described = [
        {fact: np.ravel(np.broadcast_to(x, place.shape)) for read in readers() for fact, x in read(place)} for place in places
    ]
    if len(places) == 1:
        return described[0]
    missing = [np.full(place.right.size, np.nan) for place in places]
    facts = dict.fromkeys(fact for facts in described for fact in facts)
    return {
        fact: np.concatenate([facts.get(fact, none) for facts, none in zip(described, missing, strict=True)]) for fact in facts
    }


def _list_places(call: Call) -> list[Place]:
    """Return the result, each of several results, or one gradient."""
    if call.parts is not None:
        return [_part(call, part.name, call.value[part.elements].reshape(part.shape)) for part in call.parts]
    if call.operation.spec.is_gradient:
        return [_part(call, str(call.keywords.get("wrt")), call.value)]
    return [Place(call, "", _name_axes(call), call.value)]


def _part(call: Call, name: str, right: np.ndarray) -> Place:
    return Place(call, name, _name_part_axes(call, name, right.ndim), right)


def _name_part_axes(call: Call, name: str, rank: int) -> Sequence[str]:
    """Return a name for each axis of one of several results, or of a gradient. Where heads stand first, rows come next."""
    spec = call.operation.spec
    shape = (spec.shapes.arguments if spec.is_gradient else spec.shapes.results).get(name)
    labels = shape.labels[-rank:] if shape is not None and rank else ()
    if len(labels) not in (2, 3) or labels[0] not in _HEADS:
        return _PART_AXES[-rank:] if 0 < rank < 4 else [""] * rank
    inner = _CORE_AXES[: len(labels)]
    return [*["batch entry", "second batch axis", *[""] * rank][: rank - len(inner)], *inner]


def _name_axes(call: Call) -> Sequence[str]:
    """Return a name for each axis of the result, "" for those that have none."""
    rank, spec = call.value.ndim, call.operation.spec
    first = next((x for x in call.named.values() if isinstance(x, np.ndarray)), None)
    core = rank if first is None or spec.declaration.unbatched else max(next(iter(spec.core.values())), 1)
    if first is not None and "axis" in call.keywords and rank < first.ndim:  # the axis is reduced
        core = 0
    inner = (list(_CORE_AXES) if spec.name in _WITH_HEADS or rank < 3 else ["row", "column"])[-core or 3 :]
    inner = inner[-rank:] if rank else []
    return [*["batch entry", "second batch axis", *[""] * rank][: rank - len(inner)], *inner]
