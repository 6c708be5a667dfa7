"""Messages as a JSON header and the arrays' bytes after it. Whatever arrives is data: nothing of it is run."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..implementation.framework import PLAIN, Foreign

LENGTHS = struct.Struct("<QQ")  # of the header, and of everything after it
MAX_MESSAGE_BYTES = 1 << 32  # bytes of a message
ARRAY_KINDS = "fiub"  # of the arrays that may be sent


class MalformedMessage(Exception):
    """A message that is not as agreed."""


@dataclass(frozen=True)
class Handle:
    """An object that stays in the backend's process."""

    number: int


def pack(message: Any) -> bytes:
    arrays: list[np.ndarray] = []
    tree = _plain(message, arrays)
    header = json.dumps([tree, [[x.dtype.str, x.shape] for x in arrays]]).encode()
    parts = [header, *(x.tobytes() for x in arrays)]
    return b"".join([LENGTHS.pack(len(header), sum(map(len, parts[1:]))), *parts])


def unpack(header: bytes, rest: memoryview) -> Any:
    try:
        tree, described = json.loads(header)
        arrays, start = [], 0
        for kind, shape in described:
            dtype, count = np.dtype(kind), math.prod(shape)
            if dtype.kind not in ARRAY_KINDS or count < 0:
                raise MalformedMessage(f"an array of {kind}")
            arrays.append(np.frombuffer(rest, dtype, count, start).reshape(shape) if count else np.empty(shape, dtype))
            start += count * dtype.itemsize
        return _tree(tree, arrays)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError) as error:
        raise MalformedMessage(f"{type(error).__name__}: {error}") from None


def _plain(x: Any, arrays: list[np.ndarray]) -> Any:
    """What JSON can say; every other thing is an object with one key, which says what it is."""
    if type(x) in PLAIN:
        return x
    if isinstance(x, Handle):
        return {"handle": x.number}
    if isinstance(x, np.ndarray):
        arrays.append(x)
        return {"array": len(arrays) - 1}
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, dict):
        return {"dict": [[key, _plain(value, arrays)] for key, value in x.items()]}
    if isinstance(x, list | tuple):
        return {type(x).__name__ if type(x) in (list, tuple) else "list": [_plain(item, arrays) for item in x]}
    if isinstance(x, range):
        return {"range": [x.start, x.stop, x.step]}
    if isinstance(x, set | frozenset):
        return {"list": [_plain(item, arrays) for item in sorted(x, key=repr)]}
    return {"foreign": x.kind if isinstance(x, Foreign) else f"a {type(x).__name__}"}


def _tree(x: Any, arrays: list[np.ndarray]) -> Any:
    if not isinstance(x, dict):
        return x
    ((tag, value),) = x.items()
    made: dict[str, Callable[[Any], Any]] = {
        "handle": Handle,
        "array": lambda place: arrays[place],
        "dict": lambda pairs: {str(key): _tree(item, arrays) for key, item in pairs},
        "list": lambda items: [_tree(item, arrays) for item in items],
        "tuple": lambda items: tuple(_tree(item, arrays) for item in items),
        "range": lambda numbers: range(*numbers),
        "foreign": lambda kind: Foreign(str(kind)),
    }
    return made[tag](value)
