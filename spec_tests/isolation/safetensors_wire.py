"""The messages of the process protocol (docs/protocol.md): each is one safetensors file. Reading one never runs code from it."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

PROTOCOL_VERSION = 1
LENGTH = struct.Struct("<Q")  # the number of bytes of the header, before it
MAX_HEADER_BYTES = 1 << 20
MAX_DATA_BYTES = 1 << 32
MAX_DIGITS = 20  # of a number in a header: more than a size may have, few enough to be read in no time
MAX_DIMENSIONS = 64  # as NumPy has
DTYPES = MappingProxyType({
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32", "BOOL": "bool",
})  # fmt: skip
KINDS = ("describe", "not_implemented", "error", "value")  # the entries of an answer that has no arrays


class MalformedMessage(Exception):
    """The message does not have the format of the process protocol. The text is a clause that says what is wrong."""


class MissingLibrary(Exception):
    """A library that reads or writes messages is not installed. The text is a clause that says what to install."""


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
    lost: bool = False  # whether the process says that it is of no use any more
    arrays: Mapping[str, ProcessArray] = field(default_factory=dict)


def import_safetensors() -> ModuleType:
    """Return the library safetensors. Raise MissingLibrary if it is not installed."""
    try:
        import safetensors.numpy
    except ImportError as error:
        what = f"its messages need {error.name}, which is not installed here"
        raise MissingLibrary(f"{what}; install spec-tests[process]") from None
    return safetensors


def pack(metadata: Mapping[str, str], arrays: Mapping[str, ProcessArray]) -> bytes:
    """Return a message."""
    library = import_safetensors()
    data = {name: np.require(_as_stored(x), requirements="C") for name, x in arrays.items()}
    return bytes(library.numpy.save(data, dict(metadata)))


def _as_stored(x: ProcessArray) -> np.ndarray:
    if x.dtype != "bfloat16":
        return np.asarray(x.values, dtype=x.dtype)
    try:
        import ml_dtypes
    except ImportError:
        raise MissingLibrary("its bfloat16 needs ml_dtypes, which is not installed here; install spec-tests[process]") from None
    return np.asarray(x.values).astype(ml_dtypes.bfloat16)


def read_length(prefix: bytes) -> int:
    """Return the number of bytes of the header that follows these bytes. Raise MalformedMessage if it has too many."""
    (size,) = LENGTH.unpack(prefix)
    if size > MAX_HEADER_BYTES:
        what = f"it begins with {prefix!r}, which is text" if _is_text(prefix) else f"its header has {size} bytes"
        raise MalformedMessage(f"{what}; a message begins with the length of its header, at most {MAX_HEADER_BYTES}")
    return int(size)


def _is_text(prefix: bytes) -> bool:
    """Whether the bytes look like text that was printed to the channel."""
    return all(32 <= byte < 127 or byte in b"\t\r\n\x1b" for byte in prefix)


@dataclass(frozen=True)
class Header:
    """The header of a message, read and checked."""

    metadata: Mapping[str, str]
    dtypes: Mapping[str, str]  # of the arrays, by name
    data_bytes: int  # how many bytes follow the header


def read_header(data: bytes) -> Header:
    """Return what a header says. Raise MalformedMessage if it is none of the protocol."""
    try:
        entries = json.loads(data, object_pairs_hook=_unique, parse_int=_short_int)
    except RecursionError:
        raise MalformedMessage("its header is nested too deep") from None
    except ValueError as error:
        raise MalformedMessage(f"its header cannot be read ({error})") from None
    metadata = entries.pop("__metadata__", {}) if isinstance(entries, dict) else None
    if not data.startswith(b"{") or not isinstance(metadata, dict):
        raise MalformedMessage("its header is not an object with an object __metadata__")
    if not all(isinstance(text, str) for text in metadata.values()):
        raise MalformedMessage("an entry of its metadata is not a text")
    try:
        dtypes = {name: DTYPES[entry["dtype"]] for name, entry in entries.items()}
        ends = [entry["data_offsets"][1] for entry in entries.values()]
        shapes = [entry["shape"] for entry in entries.values()]
        if not all(len(shape) <= MAX_DIMENSIONS and all(map(_is_size, shape)) for shape in shapes):
            raise MalformedMessage("the sizes of an array are no sizes")
    except (LookupError, TypeError) as error:
        raise MalformedMessage(f"an array has no known dtype, shape and data_offsets ({type(error).__name__}: {error})") from None
    if not all(map(_is_size, (*ends, *map(math.prod, shapes)))):
        raise MalformedMessage("the sizes of an array are no sizes")
    return Header(metadata, dtypes, max(ends, default=0))


def _is_size(number: Any) -> bool:
    return type(number) is int and 0 <= number <= MAX_DATA_BYTES


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a name occurs twice")
    return entries


def _short_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def unpack(header: Header, message: bytes) -> dict[str, ProcessArray]:
    """Return the arrays of a whole message, whose header has been read. Raise MalformedMessage if they do not fit it."""
    library = import_safetensors()
    try:
        entries = library.deserialize(message)
    except library.SafetensorError as error:
        raise MalformedMessage(f"its arrays cannot be read ({error})") from None
    return {name: _as_array(entry["data"], header.dtypes[name], entry["shape"]) for name, entry in entries}


def _as_array(data: bytes, dtype: str, shape: list[int]) -> ProcessArray:
    if dtype == "bfloat16":
        values = (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
    elif dtype == "bool":
        values = np.frombuffer(data, np.uint8) != 0
    else:
        values = np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype)
    return ProcessArray(dtype, values.reshape(shape))


def read_answer(header: Header, message: bytes) -> Answer:
    """Return what an answer says. Raise MalformedMessage if it says nothing, or more than one thing."""
    arrays, said = unpack(header, message), [kind for kind in KINDS if kind in header.metadata]
    if len(said) + bool(arrays) > 1:
        raise MalformedMessage(f"it holds {' and '.join([*(['arrays'] if arrays else []), *said])}")
    if not said:
        return Answer("arrays", arrays=arrays)
    (kind,) = said
    text = header.metadata[kind]
    if kind == "value" and not (text.removeprefix("-").isdecimal() and text.isascii() and len(text) <= MAX_DIGITS):
        raise MalformedMessage(f"its value is {text[:40]!r}, not an integer")
    return Answer(kind, text, header.metadata.get("lost") == "true")


def format_keyword(value: Any) -> str:
    """Return a keyword as the metadata has it: a name as it is, and everything else as JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str) else json.dumps(value)
