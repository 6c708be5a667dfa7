"""Functions on nested arguments. An argument is an array, or a dict or list of arguments (the weights of a block)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np


def tree_map(f: Callable[[Any], Any], tree: Any) -> Any:
    """Return the tree with f applied to each leaf."""
    if isinstance(tree, np.ndarray):  # as most arguments are
        return f(tree)
    if isinstance(tree, dict):
        return {key: tree_map(f, item) for key, item in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(tree_map(f, item) for item in tree)
    return f(tree)


def map_paths(f: Callable[[str, Any], Any], tree: Any, path: str = "") -> Any:
    """Return the tree with f applied to the path and the value of each leaf."""
    if isinstance(tree, dict):
        return {key: map_paths(f, item, f"{path}[{key!r}]") for key, item in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(map_paths(f, item, f"{path}[{i}]") for i, item in enumerate(tree))
    return f(path, tree)


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each leaf. A path is written as in Python: weights["layers"][0]["w_q"]."""
    if isinstance(tree, np.ndarray):  # as most arguments are
        yield path, tree
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from leaves(item, f"{path}[{key!r}]")
    elif isinstance(tree, list | tuple):
        for i, item in enumerate(tree):
            yield from leaves(item, f"{path}[{i}]")
    else:
        yield path, tree


def count_elements(tree: Any) -> int:
    """Return how many elements the arrays of a tree have in all. What has no shape counts as one."""
    if isinstance(tree, dict):
        return sum(map(count_elements, tree.values()))
    if isinstance(tree, list | tuple):
        return sum(map(count_elements, tree))
    return math.prod(getattr(tree, "shape", ()))


def pick(gradients: Any, names: tuple[str, ...], wrt: str | tuple[str, ...]) -> Any:
    """Select from an equation's gradients, which are in the order of `names`, by the paths of the arguments.

    For one path, return that gradient. For several, return one vector of all their elements.
    """
    by_path = {path: x for name, tree in zip(names, gradients, strict=False) for path, x in leaves(tree, name)}
    return by_path[wrt] if isinstance(wrt, str) else join([by_path[path] for path in wrt])


def join(arrays: Iterable[Any]) -> Any:
    """Return one vector of the elements of all arrays, one array after the other."""
    return np.concatenate([np.reshape(x, (math.prod(x.shape),)) for x in arrays], axis=0)
