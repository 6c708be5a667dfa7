"""Changes of arguments that are nested, as the weights of a model: of an array, of two of one shape, of the order of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.registry import Specification
from .alternative import Alternative, Named, call_right
from .indices import IndexMap, list_plain_maps

Path = tuple[str | None, ...]  # the keys that lead to a part; None: any index of a list
Change = Callable[[Any], Any]  # of such a part, in each entry of the lists on its way
MISSING = object()  # what a change returns to leave a part out


def list_nested(call: Call) -> Iterator[Alternative]:
    """Yield the right answers to calls with another value of a part of a nested argument."""
    name = call.operation.name
    for argument, tree in call.named.items():
        if isinstance(tree, dict | list | tuple):
            for path, what, change, cost in _list_changes(tree):
                said = f"{argument}{''.join(f'[{key!r}]' if key else '[…]' for key in path)}"
                yield Alternative(name, what.format(said), partial(_compute, argument=argument, path=path, change=change), cost)


def _compute(spec: Specification, named: Named, argument: str, path: Path, change: Change) -> Any:
    return call_right(spec, {**named, argument: _change_at(named.get(argument), path, change)})


def _change_at(tree: Any, path: Path, change: Change) -> Any:
    """Return the tree with the change of each part that the path leads to."""
    if not path:
        return change(tree)
    key, rest = path[0], path[1:]
    if key is None and isinstance(tree, list | tuple):
        return type(tree)(_change_at(item, rest, change) for item in tree)
    if isinstance(tree, dict) and key in tree:
        changed = _change_at(tree[key], rest, change)
        return {k: changed if k == key else x for k, x in tree.items() if k != key or changed is not MISSING}
    return tree


def _list_changes(tree: Any) -> Iterator[tuple[Path, str, Change, float]]:
    for path, part in _list_parts(tree, ()):
        if isinstance(part, list | tuple):
            for turn in list_plain_maps(len(part)) if len(part) > 1 else ():
                yield path, "in {}, " + turn.say("entry", "entries"), partial(_turn, turn=turn), 0.5 + turn.cost
        elif isinstance(part, dict):
            for one, other in combinations(part, 2):
                if getattr(part[one], "shape", None) == getattr(part[other], "shape", ()):
                    said = f"in {{}}, {one!r} and {other!r} are taken for each other"
                    yield path, said, partial(_exchange, one=one, other=other), 1.0
        else:
            yield path, "{} is left out", lambda x: MISSING, 0.5
            if part.ndim == 1:
                yield path, "{} is taken as 1", lambda x: 0.0 * x + 1.0, 0.5
            yield path, "{} is taken as 0", lambda x: 0.0 * x, 0.5
            if part.ndim > 1 and part.shape[-1] == part.shape[-2] > 1:
                yield path, "{} is transposed where it is square", _transpose, 0.5


def _list_parts(tree: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the parts of a tree with their paths. The first entry of a list stands for all."""
    if isinstance(tree, dict):
        yield path, tree
        for key, item in tree.items():
            yield from _list_parts(item, (*path, key))
    elif isinstance(tree, list | tuple):
        yield path, tree
        yield from _list_parts(tree[0], (*path, None)) if tree else ()
    elif isinstance(tree, np.ndarray) and tree.dtype.kind == "f" and tree.size:
        yield path, tree


def _turn(x: Any, turn: IndexMap) -> Any:
    order = np.asarray(turn.source(np.arange(len(x)), len(x), {}))
    return type(x)(x[i] for i in order.tolist())


def _exchange(x: Any, one: str, other: str) -> Any:
    return {**x, one: x[other], other: x[one]} if one in x and other in x else x


def _transpose(x: Any) -> Any:
    return np.swapaxes(x, -1, -2) if x.ndim > 1 and x.shape[-1] == x.shape[-2] else x
