"""Arguments and answers as Python has them, in a text of JSON: what servers get and send that take the optional `trees`.

A number, a text, a bool, None and a list are themselves. Anything else is an object with one key, which says what it is.
Arrays are in the message, by names that the text refers to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..implementation.framework import PLAIN_TYPES, Foreign, numpy_dtype
from ..implementation.layouts import View
from .message import CODES, MalformedMessage, ProcessArray, read_json


@dataclass(frozen=True)
class Handle:
    """Stands for an object that stays in the process of the backend."""

    number: int


@dataclass(frozen=True)
class Making:
    """Asks the process to make an array, which is this view of a buffer, and to keep it under this number."""

    number: int
    dtype: str
    view: View


@dataclass(frozen=True)
class Kept:
    """An array that stays in the process of the backend, and what is in it now."""

    number: int
    dtype: str
    device: str
    values: ProcessArray | str  # a text says why they cannot be read
    ranks: tuple[ProcessArray, ...] = ()  # the values as each rank has them, where the ranks are devices of one process


def write_tree(tree: Any) -> tuple[str, dict[str, ProcessArray]]:
    """Return the text of a tree, and the arrays that it refers to."""
    arrays: dict[str, ProcessArray] = {}
    return json.dumps(_encode(tree, arrays)), arrays


def read_tree(text: str, arrays: Mapping[str, ProcessArray]) -> Any:
    """Return the tree that a text holds. Raise MalformedMessage if it holds none."""
    try:
        return _decode(read_json(text), arrays)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
        raise MalformedMessage(f"{type(error).__name__}: {error}") from None


def _encode(x: Any, arrays: dict[str, ProcessArray]) -> Any:
    if type(x) in PLAIN_TYPES:
        return x
    if isinstance(x, ProcessArray):
        arrays[name := str(len(arrays))] = x
        return {"array": name}
    if isinstance(x, Handle):
        return {"handle": x.number}
    if isinstance(x, Making):
        index = ["..." if part is ... else [part.start, part.stop, part.step] for part in x.view.index]
        view: dict[str, Any] = {"index": index, "order": x.view.order, "shape": x.view.shape, "read_only": x.view.is_read_only}
        view["unfinished"], view["memory"] = x.view.is_unfinished, x.view.memory
        stored = numpy_dtype(x.dtype) if x.dtype not in CODES else x.dtype
        view["dtype"] = x.dtype if stored != x.dtype else ""  # of codes, which the message has
        said = {name: value for name, value in view.items() if value}
        return {"make": [x.number, _encode(ProcessArray(stored, x.view.buffer), arrays), said]}
    if isinstance(x, Kept):
        return {"kept": [x.number, x.dtype, x.device, _encode(x.values, arrays), [_encode(y, arrays) for y in x.ranks]]}
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, dict):
        return {"dict": [[key, _encode(value, arrays)] for key, value in x.items()]}
    if isinstance(x, list | tuple):
        items = [_encode(item, arrays) for item in x]
        return {"tuple": items} if type(x) is tuple else items
    if isinstance(x, range):
        return {"range": [x.start, x.stop, x.step]}
    if isinstance(x, set | frozenset):
        return [_encode(item, arrays) for item in sorted(x, key=repr)]
    return {"foreign": x.kind if isinstance(x, Foreign) else f"a {type(x).__name__}"}


def _decode(node: Any, arrays: Mapping[str, ProcessArray]) -> Any:
    if isinstance(node, list):
        return [_decode(item, arrays) for item in node]
    if not isinstance(node, dict):
        return node
    ((tag, value),) = node.items()
    if tag == "array":
        return arrays[value]
    if tag == "handle":
        return Handle(int(value))
    if tag == "make":
        return _read_making(value, arrays)
    if tag == "kept":
        return _read_kept(value, arrays)
    if tag == "dict":
        return {str(key): _decode(item, arrays) for key, item in value}
    if tag == "tuple":
        return tuple(_decode(item, arrays) for item in value)
    if tag == "range":
        return range(*value)
    if tag == "foreign":
        return Foreign(str(value))
    raise ValueError(f"an object of the kind {tag}")


def _read_making(value: Any, arrays: Mapping[str, ProcessArray]) -> Making:
    number, array, view = value
    buffer = arrays[array["array"]]
    index = tuple(... if part == "..." else slice(*part) for part in view.get("index", ()))
    order, shape = tuple(view.get("order", ())), view.get("shape")
    states = view.get("read_only", False), view.get("unfinished", False), str(view.get("memory", ""))
    lies = View(buffer.values, index, order, None if shape is None else tuple(shape), *states)
    return Making(int(number), str(view.get("dtype", buffer.dtype)), lies)


def _read_kept(value: Any, arrays: Mapping[str, ProcessArray]) -> Kept:
    number, dtype, device, values, ranks = value
    seen = values if isinstance(values, str) else arrays[values["array"]]
    return Kept(int(number), str(dtype), str(device), seen, tuple(arrays[x["array"]] for x in ranks))
