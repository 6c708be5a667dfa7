"""A checker of test vectors as a stranger writes it from docs/vectors.md: nothing but the file and the function is used."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from spec_tests.servers.interface import interface

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": ml_dtypes.bfloat16, "I64": "<i8", "BOOL": "?"}
DTYPES |= {"I32": "<i4", "U32": "<u4", "I8": "i1", "U8": "u1"}
Vector = tuple[dict[str, str], dict[str, np.ndarray]]  # what the metadata say of it, and its arrays


def read_vectors(path: Path) -> list[Vector]:
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__")
    vectors: list[Vector] = [({}, {}) for _ in range(int(metadata["count"]))]
    for name, text in metadata.items():
        if name[0].isdigit():
            vectors[int(name.partition(".")[0])][0][name.partition(".")[2]] = text
    for name, entry in header.items():
        start, end = (8 + size + offset for offset in entry["data_offsets"])
        array = np.frombuffer(data[start:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        vectors[int(name.partition(".")[0])][1][name.partition(".")[2]] = array
    return vectors


def is_right(function: Callable[..., Any], order: Sequence[str], vector: Vector) -> bool:
    """Whether a function, whose required arrays come in this order, answers a vector without an error, inside the interval."""
    about, arrays = vector
    ends = {name: x for name, x in arrays.items() if name.partition(".")[0] in ("value", "low", "high")}
    given = {name: x.copy() for name, x in arrays.items() if name not in ends}
    positional = [given.pop(name) for name in order]
    keywords = {k.partition(".")[2]: read_keyword(text) for k, text in about.items() if k.startswith("keywords.")}
    try:
        with np.errstate(all="ignore"):
            y = np.asarray(function(*positional, **given, **keywords))
    except Exception:
        return False
    (low,), (high,) = ([x for name, x in ends.items() if name.startswith(end)] for end in ("low", "high"))
    if y.shape != low.shape or y.dtype != low.dtype:
        return False
    y, low, high = (x.astype(np.float64) for x in (y, low, high))
    return bool(np.all(((low <= y) & (y <= high)) | (np.isneginf(low) & np.isposinf(high))))


def list_required_arrays(operation: str) -> list[str]:
    """Return the arrays that are not optional, in their order: what operations.json says."""
    return [array.name for array in interface(operation).arrays if not array.optional]


def read_keyword(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
