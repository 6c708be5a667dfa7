"""Arguments may be arrays, or dicts and lists of them (a block's weights)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def tree_map(f: Callable[[Any], Any], tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: tree_map(f, item) for key, item in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(tree_map(f, item) for item in tree)
    return f(tree)


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each leaf with its path, as Python would write it: weights["layers"][0]["w_q"]."""
    if isinstance(tree, dict):
        for key, item in tree.items():
            yield from leaves(item, f"{path}[{key!r}]")
    elif isinstance(tree, list | tuple):
        for i, item in enumerate(tree):
            yield from leaves(item, f"{path}[{i}]")
    else:
        yield path, tree


def pick(gradients: Any, names: tuple[str, ...], wrt: str | tuple[str, ...]) -> Any:
    """Of an equation's gradients, one for each name, the one asked for, or those, as one vector."""
    found = {path: x for name, tree in zip(names, gradients, strict=False) for path, x in leaves(tree, name)}
    if isinstance(wrt, str):
        return found[wrt]
    return np.concatenate([np.reshape(found[name], (math.prod(found[name].shape),)) for name in wrt], axis=0)
