"""One order for several arrays: along a dimension that they share, and of the key/value heads that query heads read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification, argument_dimensions, given_dimensions
from .alternative import Named, call_right, take
from .axes import name_dimension, plural
from .indices import IndexMap, list_plain_maps

GROUPS: tuple[tuple[str, Callable[[np.ndarray, int, int], np.ndarray]], ...] = (  # of head i of h and so many key/value heads
    ("query head i reads key/value head i modulo h_kv", lambda i, h, groups: i % groups),
    ("all query heads read the first key/value head", lambda i, h, groups: 0 * i),
    ("all query heads read the last key/value head", lambda i, h, groups: 0 * i + groups - 1),
    ("query head i reads key/value head min(i, h_kv − 1)", lambda i, h, groups: np.minimum(i, groups - 1)),
    ("query heads read the key/value heads in reverse order", lambda i, h, groups: groups - 1 - i * groups // h),
    ("each query head reads the key/value head of the head before", lambda i, h, groups: np.maximum(i - 1, 0) * groups // h),
    ("each query head reads the key/value head of the next head", lambda i, h, groups: np.minimum(i + 1, h - 1) * groups // h),
)


def list_shared_turns(spec: Specification, call: Call) -> Iterator[tuple[str, Callable[[Specification, Named], Any]]]:
    """Yield the changes of the order along one dimension, of all arrays that have it: of the keys of k and v, for example."""
    having: dict[str, list[tuple[str, int]]] = {}
    ranks = {name: x.ndim for name, x in call.named.items() if isinstance(x, np.ndarray)}
    for name, labels in given_dimensions(spec, ranks, call.named).items():
        if isinstance(call.named.get(name), np.ndarray) and name != "cotangent":
            for axis, label in enumerate(labels, start=-len(labels)):
                having.setdefault(label, []).append((name, axis))
    for label, places in having.items():
        names = list(dict.fromkeys(name for name, _ in places))
        length = call.named[places[0][0]].shape[places[0][1]]
        if len(names) > 1 and length > 1 and " " not in label:
            one = name_dimension(spec, label)
            optional = [name for name in names if name in spec.parameters and spec.parameters[name].default is None]
            subsets = [names[i:] for i in range(min(len(names) - 1, 3))]
            for subset in (*subsets, *([optional] if len(optional) > 1 and optional not in subsets else ())):
                for turn in list_plain_maps(length):
                    said = f"in {', '.join(subset[:-1])} and {subset[-1]}, {turn.say(one, plural(one))}"
                    yield said, _turned_together(subset, label, turn)


def _turned_together(names: list[str], label: str, turn: IndexMap) -> Callable[[Specification, Named], Any]:
    """Return the change of the order along a dimension of some arrays, whose axis depends on how many axes an array has."""

    def compute(spec: Specification, named: Named) -> Any:
        changed = dict(named)
        ranks = {name: named[name].ndim for name in names if named.get(name) is not None}
        for name, labels in given_dimensions(spec, ranks, named).items():
            for axis, own in enumerate(labels, start=-len(labels)):
                if name in ranks and own == label:
                    changed[name] = _turn(changed[name], axis, turn)
        return call_right(spec, changed)

    return compute


def list_group_turns(spec: Specification, call: Call) -> Iterator[tuple[str, Callable[[Specification, Named], Any]]]:
    """Yield the other ways in which query heads may be shared out among key/value heads, where an array has an axis for each."""
    labels = argument_dimensions(spec)
    heads = [(name, axes.index("h") - len(axes)) for name, axes in labels.items() if "h" in axes and name in call.named]
    shared = [(name, axes.index("h_kv") - len(axes)) for name, axes in labels.items() if "h_kv" in axes]
    shared = [(name, axis) for name, axis in shared if isinstance(call.named.get(name), np.ndarray)]
    heads = [(name, axis) for name, axis in heads if isinstance(call.named.get(name), np.ndarray) and name != "cotangent"]
    if not heads or not shared or spec.is_gradient:
        return
    for words, source in GROUPS:
        yield words, _grouped(heads[0], shared, source)


def _grouped(
    head: tuple[str, int], shared: list[tuple[str, int]], source: Callable[[np.ndarray, int, int], np.ndarray]
) -> Callable[[Specification, Named], Any]:
    def compute(spec: Specification, named: Named) -> Any:
        count = named[head[0]].shape[head[1]]
        changed = dict(named)
        for name, axis in shared:
            groups = named[name].shape[axis]
            changed[name] = take(named[name], source(np.arange(count), count, groups), axis)
        return call_right(spec, changed)

    return compute


def _turn(x: Any, axis: int, turn: IndexMap) -> Any:
    return take(x, turn.source(np.arange(x.shape[axis]), x.shape[axis], {}), axis)
