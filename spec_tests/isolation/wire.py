"""Messages: a JSON header, and the bytes of the arrays after it. Reading a message never runs code that it contains."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..implementation.framework import PLAIN_TYPES, Foreign

LENGTHS = struct.Struct("<QQ")  # bytes of the header, and bytes of the arrays
MAX_MESSAGE_BYTES = 1 << 32
MAX_HEADER_BYTES = 1 << 20  # of JSON, which takes some thirty times as much memory when it is read; arrays are not in it
MAX_DIGITS = 20  # of an integer in a header: more digits have a cost that grows with their square
MAX_DIMENSIONS = 64  # as NumPy has
ARRAY_KINDS = "fiub"  # the kinds of dtype that a message may have: floating, integer, unsigned, bool


class MalformedMessage(Exception):
    """The message does not have the format of this module."""


@dataclass(frozen=True)
class Handle:
    """Stands for an object that stays in the process of the backend."""

    number: int


def pack(message: Any) -> bytes:
    """Return the bytes of a message, with its two lengths first."""
    arrays: list[np.ndarray] = []
    tree = _encode(message, arrays)
    header = json.dumps([tree, [[x.dtype.str, x.shape] for x in arrays]]).encode()
    parts = [header, *(x.tobytes() for x in arrays)]
    return b"".join([LENGTHS.pack(len(header), sum(map(len, parts[1:]))), *parts])


def unpack(header: bytes, rest: memoryview) -> Any:
    """Return the message that has this header, with these bytes after it. Raise MalformedMessage if it is none."""
    try:
        if len(header) > MAX_HEADER_BYTES:
            raise MalformedMessage(f"a header of {len(header)} bytes")
        tree, descriptions = json.loads(header, parse_int=_parse_integer)
        arrays, start = [], 0
        for dtype_text, shape in descriptions:
            dtype = np.dtype(dtype_text)
            if dtype.kind not in ARRAY_KINDS or len(shape) > MAX_DIMENSIONS or any(size < 0 for size in shape):
                raise MalformedMessage(f"an array of {dtype_text} with {len(shape)} dimensions")
            count = math.prod(shape)  # of few sizes, each with few digits
            if count * dtype.itemsize > len(rest) - start:
                raise MalformedMessage(f"an array of {count} elements in the {len(rest) - start} bytes that follow")
            arrays.append(np.frombuffer(rest, dtype, count, start).reshape(shape) if count else np.empty(shape, dtype))
            start += count * dtype.itemsize
        return _decode(tree, arrays)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError) as error:
        raise MalformedMessage(f"{type(error).__name__}: {error}") from None


def _parse_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise MalformedMessage(f"an integer of {len(digits)} digits")
    return int(digits)


def _encode(x: Any, arrays: list[np.ndarray]) -> Any:
    """Return x as JSON can hold it. What JSON has no type for becomes an object with one key, the tag that says what it is.

    Arrays are appended to `arrays`, and the object holds their place there.
    """
    if type(x) in PLAIN_TYPES:
        return x
    if isinstance(x, Handle):
        return {"handle": x.number}
    if isinstance(x, np.ndarray):
        arrays.append(x)
        return {"array": len(arrays) - 1}
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, dict):
        return {"dict": [[key, _encode(value, arrays)] for key, value in x.items()]}
    if isinstance(x, list | tuple):
        return {type(x).__name__ if type(x) in (list, tuple) else "list": [_encode(item, arrays) for item in x]}
    if isinstance(x, range):
        return {"range": [x.start, x.stop, x.step]}
    if isinstance(x, set | frozenset):
        return {"list": [_encode(item, arrays) for item in sorted(x, key=repr)]}
    return {"foreign": x.kind if isinstance(x, Foreign) else f"a {type(x).__name__}"}


def _decode(x: Any, arrays: list[np.ndarray]) -> Any:
    """Return what _encode has encoded."""
    if not isinstance(x, dict):
        return x
    ((tag, value),) = x.items()
    decoders: dict[str, Callable[[Any], Any]] = {
        "handle": Handle,
        "array": lambda place: arrays[place],
        "dict": lambda pairs: {str(key): _decode(item, arrays) for key, item in pairs},
        "list": lambda items: [_decode(item, arrays) for item in items],
        "tuple": lambda items: tuple(_decode(item, arrays) for item in items),
        "range": lambda numbers: range(*numbers),
        "foreign": lambda kind: Foreign(str(kind)),
    }
    return decoders[tag](value)
