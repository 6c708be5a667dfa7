"""The messages of the process protocol (docs/protocol.md): each is one safetensors file. Reading one never runs code from it.

A header is checked as a whole before anything is computed from it, because either side may be anybody's. This needs no library,
so that a plain installation has it, and so have the processes of backends.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

PROTOCOL_VERSION = 1
EXTENSIONS = ("trees", "handles", "layouts", "states", "linearization", "ranks")  # what a server may take besides
LENGTH = struct.Struct("<Q")  # the number of bytes of the header, before it
MAX_HEADER_BYTES = 1 << 20  # of JSON, which takes some thirty times as much memory when it is read; arrays are not in it
MAX_DATA_BYTES = 1 << 32
MAX_DIGITS = 20  # of a number in a header: more than a size may have, few enough to be read in no time
MAX_DIMENSIONS = 64  # as NumPy has
DTYPES = MappingProxyType({  # in the order of their arrays in a message, so that each begins at a multiple of its element's size
    "I64": "int64", "F64": "float64", "F32": "float32", "I32": "int32", "U32": "uint32", "BF16": "bfloat16", "F16": "float16",
    "BOOL": "bool", "I8": "int8", "U8": "uint8",
})  # fmt: skip
CODES = MappingProxyType({name: code for code, name in DTYPES.items()})
PLACES = MappingProxyType({name: place for place, name in enumerate(CODES)})
STORED = MappingProxyType({x: np.dtype({"bfloat16": "<u2", "bool": "?"}.get(x, x)).newbyteorder("<") for x in CODES})
KINDS = ("describe", "not_implemented", "error", "value", "cannot_make", "answer")  # of an answer; the last may have arrays


class MalformedMessage(Exception):
    """The message does not have the format of the process protocol. The text is a clause that says what is wrong."""


@dataclass(frozen=True)
class ProcessArray:
    """An array that a process has answered, or that is sent to it."""

    dtype: str
    values: np.ndarray  # in this dtype; bfloat16 as float32, which holds its values exactly

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __getitem__(self, index: slice) -> ProcessArray:
        """Return some rows, as those of any other framework's array are taken."""
        return ProcessArray(self.dtype, self.values[index])


@dataclass(frozen=True)
class Answer:
    """What a process has answered: arrays by name, or one of KINDS with its text."""

    kind: str  # "arrays" or one of KINDS
    text: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    arrays: Mapping[str, ProcessArray] = field(default_factory=dict)

    @property
    def lost(self) -> bool:
        """Whether the process says that it is of no use any more."""
        return self.metadata.get("lost") == "true"


# --- writing ----------------------------------------------------------------------------------------------------------


def pack(metadata: Mapping[str, str], arrays: Mapping[str, ProcessArray]) -> bytes:
    """Return a message."""
    header: dict[str, Any] = {"__metadata__": {**metadata}} if metadata else {}
    parts: list[bytes | memoryview] = []
    start = 0
    for name, x in sorted(arrays.items(), key=lambda item: (PLACES[item[1].dtype], item[0])):
        stored = np.ascontiguousarray(_as_stored(x))
        parts.append(stored.reshape(-1).view(np.uint8).data if stored.size else b"")
        end = start + stored.nbytes
        header[name] = {"dtype": CODES[x.dtype], "shape": x.values.shape, "data_offsets": (start, end)}
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([LENGTH.pack(len(text)), text, *parts])


def _as_stored(x: ProcessArray) -> np.ndarray:
    if x.dtype != "bfloat16":
        return np.asarray(x.values, dtype=STORED[x.dtype])
    bits = np.asarray(x.values, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16  # to nearest, ties to even
    return np.where(np.isnan(x.values), bits >> 16 | 0x40, rounded).astype("<u2")


def format_keyword(value: Any) -> str:
    """Return a keyword as the metadata has it: a name as it is, and everything else as JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str) else json.dumps(value)


# --- reading ----------------------------------------------------------------------------------------------------------


def read_length(prefix: bytes) -> int:
    """Return the number of bytes of the header that follows these bytes. Raise MalformedMessage if it has too many."""
    (size,) = LENGTH.unpack(prefix)
    if size > MAX_HEADER_BYTES:
        raise MalformedMessage(f"its header has {size} bytes; a message begins with its length, at most {MAX_HEADER_BYTES}")
    return int(size)


@dataclass(frozen=True)
class Header:
    """The header of a message, read and checked."""

    metadata: Mapping[str, str]
    entries: Mapping[str, tuple[str, list[int], int]]  # the dtype, the shape and the first byte of each array
    data_bytes: int  # how many bytes follow the header


def read_header(data: bytes) -> Header:
    """Return what a header says. Raise MalformedMessage if it is none of the protocol."""
    try:
        said = read_json(data)
    except ValueError as error:
        raise MalformedMessage(f"its header cannot be read ({error})") from None
    metadata = said.pop("__metadata__", {}) if isinstance(said, dict) else None
    if not data.startswith(b"{") or not isinstance(metadata, dict):
        raise MalformedMessage("its header is not an object with an object __metadata__")
    if not all(isinstance(text, str) for text in metadata.values()):
        raise MalformedMessage("an entry of its metadata is not a text")
    entries, spans = {}, []
    for name, entry in said.items():
        dtype, shape, start, end = _read_entry(entry)
        entries[name] = dtype, shape, start
        spans.append((start, end))
    end_before = 0
    for start, end in sorted(spans):
        if start != end_before:
            raise MalformedMessage("its arrays do not follow one another")
        end_before = end
    return Header(metadata, entries, end_before)


def _read_entry(entry: Any) -> tuple[str, list[int], int, int]:
    """Return the dtype, the shape, the first byte and the end of an array. Nothing is multiplied before it is known to be few."""
    try:
        dtype, shape, (start, end) = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS or not all(map(_is_size, (start, end, *shape))):
            raise MalformedMessage("the sizes of an array are no sizes")
    except (LookupError, TypeError, ValueError) as error:
        raise MalformedMessage(f"an array has no known dtype, shape and data_offsets ({type(error).__name__}: {error})") from None
    if math.prod(shape) * STORED[dtype].itemsize != end - start:
        raise MalformedMessage("an array has other bytes than its shape and its dtype say")
    return dtype, shape, start, end


def _is_size(number: Any) -> bool:
    return type(number) is int and 0 <= number <= MAX_DATA_BYTES


def read_json(text: str | bytes) -> Any:
    """Return what a text holds, as JSON. Raise ValueError if it is none, or costs too much to read."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_int=_short_int)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a name occurs twice")
    return entries


def _short_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def unpack(header: Header, data: bytes | bytearray) -> dict[str, ProcessArray]:
    """Return the arrays of a message. `data` has as many bytes as its header says."""
    return {name: _as_array(data, *entry) for name, entry in header.entries.items()}


def _as_array(data: bytes | bytearray, dtype: str, shape: list[int], start: int) -> ProcessArray:
    stored = np.frombuffer(data, np.uint8 if dtype == "bool" else STORED[dtype], math.prod(shape), start)
    if dtype == "bfloat16":
        stored = (stored.astype(np.uint32) << 16).view(np.float32)
    elif dtype == "bool":
        stored = stored != 0
    return ProcessArray(dtype, stored.reshape(shape))


def read_answer(header: Header, data: bytes | bytearray) -> Answer:
    """Return what an answer says. Raise MalformedMessage if it says nothing, or more than one thing."""
    arrays, said = unpack(header, data), [kind for kind in KINDS if kind in header.metadata]
    if len(said) + bool(arrays and said != ["answer"]) > 1:
        raise MalformedMessage(f"it holds {' and '.join([*(['arrays'] if arrays else []), *said])}")
    if not said:
        return Answer("arrays", "", header.metadata, arrays)
    (kind,) = said
    text = header.metadata[kind]
    if kind == "value" and not (text.removeprefix("-").isdecimal() and text.isascii() and len(text) <= MAX_DIGITS):
        raise MalformedMessage(f"its value is {text[:40]!r}, not an integer")
    return Answer(kind, text, header.metadata, arrays)
