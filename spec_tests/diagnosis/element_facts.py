"""The facts of each element of a result: where it is, and which values of the arguments belong to it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.in_domain import dimension_sizes
from ..specification.formats import is_floating
from .counted_facts import describe_counts, describe_counts_of_part

BLOCKS = (4, 8, 16, 32, 64, 128, 256)

INDEX_FACTS = ("column", "row", "head", "batch entry", "second batch axis")

BEYOND = "beyond the whole blocks of "

FLAT_INDEX = "flat index"  # of an element of the result, as `ndarray.flat` counts

ROW_OF_ALL = "row of all"  # counted through all batch axes

BEYOND_FLAT = f"{FLAT_INDEX} {BEYOND}"

COVERED, COVER_BLOCKS = " from ⌈", (8, 16, 32, 64, 128)  # an index that blocks which cover another size do not reach

RIGHT_VALUE = "the right value"

COTANGENT = "cotangent"

GRADIENT, RESULT = "argument", "result"  # facts of the elements of several arrays: which of them

_WITH_HEADS = ("grouped_query_attention", "alibi_bias")


def describe_elements(call: Call) -> dict[str, np.ndarray]:
    """Return the facts of every element of the result, each as a flat array."""
    if call.operation.spec.is_gradient or call.parts is not None:
        return _describe_parts(call, GRADIENT if call.operation.spec.is_gradient else RESULT)
    value = call.value
    names = _name_axes(call)
    facts = {**_list_indices(value.shape, names), **_list_flat_indices(value.shape), **_list_uncovered(call, names)}
    facts |= {**dict(_list_values(call)), **describe_counts(call), RIGHT_VALUE: value.astype(np.float64)}
    if "head" in facts and (sizes := dimension_sizes(call)).get("h_kv", 0) > 0:
        facts["head of its group"] = facts["head"] % (sizes["h"] // sizes["h_kv"])
    return {name: np.ravel(np.broadcast_to(x, value.shape)) for name, x in facts.items()}


def name_first(call: Call) -> str:
    """Return the name of the first argument that is no cotangent, "" if there is none. Of a gradient it is the operation's."""
    return next((name for name in call.named if name != COTANGENT), "")


def _name_axes(call: Call) -> list[str]:
    """Return a name for each axis of the result, "" for those that have none."""
    rank, spec = call.value.ndim, call.operation.spec
    first = next((x for x in call.named.values() if isinstance(x, np.ndarray)), None)
    core = rank if first is None or spec.declaration.unbatched else max(next(iter(spec.core.values())), 1)
    if first is not None and "axis" in call.keywords and rank < first.ndim:  # the axis is reduced
        core = 0
    inner = (["head", "row", "column"] if spec.name in _WITH_HEADS or rank < 3 else ["row", "column"])[-core or 3 :]
    inner = inner[-rank:] if rank else []
    outer = ["batch entry", "second batch axis", *[""] * rank][: rank - len(inner)]
    return outer + inner


def _list_indices(shape: tuple[int, ...], names: list[str]) -> dict[str, np.ndarray]:
    """Return the index along each named axis, from the front and from the end, and where it lies in blocks."""
    facts: dict[str, np.ndarray] = {}
    for axis, name in enumerate(names):
        if not name:
            continue
        index = np.arange(shape[axis]).reshape(-1, *[1] * (len(shape) - axis - 1))
        facts[name] = index
        facts[f"{name} from the end"] = shape[axis] - 1 - index
        if name == "column":
            for block in BLOCKS:
                facts[f"{BEYOND}{block}"] = index >= shape[axis] // block * block
    if len(shape) > 1:
        rows = np.arange(int(np.prod(shape[:-1]))).reshape(*shape[:-1], 1)
        facts[ROW_OF_ALL] = rows
    if {"row", "column"} <= facts.keys():
        facts["column − row"] = facts["column"] - facts["row"]
    return facts


def _list_flat_indices(shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Return the index of each element in the flattened result, and where it lies in blocks; {} where it is the last index."""
    if len(shape) < 2:
        return {}
    size = int(np.prod(shape))
    index = np.arange(size).reshape(shape)
    facts = {FLAT_INDEX: index, f"{FLAT_INDEX} from the end": size - 1 - index}
    return facts | {f"{BEYOND_FLAT}{block}": index >= size // block * block for block in BLOCKS}


def _list_uncovered(call: Call, names: list[str]) -> dict[str, np.ndarray]:
    """Return which indices are not reached by as many whole blocks as cover another size, where some are not."""
    shape, facts, indices = call.value.shape, dict[str, np.ndarray](), dict[str, np.ndarray]()
    for axis, name in ((axis, name) for axis, name in enumerate(names) if name in ("row", "column")):
        indices[name] = np.arange(shape[axis]).reshape(-1, *[1] * (len(shape) - axis - 1))
    if len(shape) > 1:
        indices[ROW_OF_ALL] = np.arange(int(np.prod(shape[:-1]))).reshape(*shape[:-1], 1)
    for name, (other, size), block in itertools.product(indices, dimension_sizes(call).items(), COVER_BLOCKS):
        if (end := -(-size // block) * block) < indices[name].size:
            facts[f"{name}{COVERED}{other} / {block}⌉ · {block} on"] = indices[name] >= end
    return facts


def _list_values(call: Call) -> Iterator[tuple[str, Any]]:
    """Yield the values of arguments that belong to an element: at its place, in its column, or of its whole row."""
    shape = call.value.shape
    for name, x in call.named.items():
        if isinstance(x, np.ndarray) and x.dtype.kind in "iu" and x.size:
            yield from _list_indices_at(name, x, call)
        if not (isinstance(x, np.ndarray) and is_floating(x)) or not x.size:
            continue
        if x.shape == shape:
            yield name, x
        if x.ndim == 1 and shape and x.shape == shape[-1:] and len(call.arguments) > 1:
            yield f"{name} of the column", x
        axis = call.keywords.get("axis", -1)
        if x.ndim and name == next(iter(call.named)):
            rows = [(f"the largest entry of a row of {name}", np.max(x, axis=axis, keepdims=True))]
            rows += [(f"the smallest entry of a row of {name}", np.min(x, axis=axis, keepdims=True))]
            rows += [(f"the largest magnitude in a row of {name}", np.max(np.abs(x), axis=axis, keepdims=True))]
            for fact, statistic in rows:
                if len(shape) == x.ndim and all(a in (b, 1) for a, b in zip(statistic.shape, shape, strict=True)):
                    yield fact, statistic
                elif np.squeeze(statistic, axis).shape == shape:
                    yield fact, np.squeeze(statistic, axis)


def _list_indices_at(name: str, x: np.ndarray, call: Call) -> Iterator[tuple[str, np.ndarray]]:
    """Yield an array of integers that has one for each element, or for each row: ids, targets or positions."""
    shape, core = call.value.shape, call.operation.spec.core.get(name, 0)
    if x.shape == shape:
        yield name, x
    elif (shape and x.shape == shape[:-1]) or (core == 1 and x.shape == shape[-1 - x.ndim : -1]):
        yield name, x[..., None]


def _describe_parts(call: Call, named: str) -> dict[str, np.ndarray]:
    """Return the facts of a vector of several arrays, or of one gradient: the name of the array, and the index in it."""
    wrt, value = call.keywords.get("wrt"), call.value
    parts = [(str(wrt), value.shape)] if call.parts is None else [(part.name, part.shape) for part in call.parts]
    found = []
    for name, shape in parts:
        size = int(np.prod(shape))
        indices = _list_indices(shape, ["batch entry", "row", "column"][-len(shape) :] if 0 < len(shape) < 4 else [])
        facts = {fact: index for fact, index in indices.items() if not fact.startswith(BEYOND)} | dict(
            _list_values_at(call, shape)
        )
        facts |= describe_counts_of_part(call, name, shape)
        flat = {fact: np.ravel(np.broadcast_to(x, shape)) for fact, x in facts.items()}
        found.append(({named: np.full(size, name)} | flat, size))
    names = dict.fromkeys(fact for facts, _ in found for fact in facts)
    missing = {fact: "" if fact == named else np.nan for fact in names}
    joined = {fact: np.concatenate([facts.get(fact, np.full(size, missing[fact])) for facts, size in found]) for fact in names}
    return {**joined, RIGHT_VALUE: np.ravel(value).astype(np.float64)}


def _list_values_at(call: Call, shape: tuple[int, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the floating arguments of a result's shape, whose values stand at its elements, and those with one for each row."""
    for name, x in call.named.items():
        if isinstance(x, np.ndarray) and is_floating(x) and x.shape in (shape, shape[:-1]):
            yield name, (x if x.shape == shape else x[..., None]).astype(np.float64)
