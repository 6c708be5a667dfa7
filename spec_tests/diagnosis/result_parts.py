"""The arrays that the results of an operation are made of: several results, or the gradients of several arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..calls.call import Call
from ..specification.registry import Specification


def map_parts(f: Callable[..., Any], spec: Specification, *results: Any) -> Any:
    """Return results with f(name, array of each) in the place of each array; the name of a single result is ""."""
    if not (spec.is_gradient or spec.has_several_results):
        return f("", *results)
    names = spec.positional[1:] if spec.is_gradient else tuple(spec.results)
    return tuple(_map(f, name, *trees) for name, *trees in zip(names, *results, strict=False))


def _map(f: Callable[..., Any], path: str, *trees: Any) -> Any:
    first = trees[0]
    if isinstance(first, dict):
        return {key: _map(f, f"{path}[{key!r}]", *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, list | tuple):
        return type(first)(_map(f, f"{path}[{i}]", *items) for i, items in enumerate(zip(*trees, strict=True)))
    return first if first is None else f(path, *trees)


def say_part(spec: Specification, part: str) -> str:
    """Return what a result is called: the result, or the gradient of an argument. An argument may have the name of a result."""
    if spec.is_gradient:
        return f"the gradient of {part}"
    return f"the returned {part}" if part in spec.parameters else part or "the result"


def split_parts(call: Call, values: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays that the values of a call are made of, by name: "" for a single result, the argument for a gradient."""
    if call.parts is not None:
        return call.parts.split(values)
    wrt = call.keywords.get("wrt")
    return {wrt if isinstance(wrt, str) else "": values}
