"""Whether the files of an export are those that were written, and are what the format says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

import numpy as np

from ..processes.message import LENGTH, Header, MalformedMessage, ProcessArray, read_header, unpack
from .export import EARLIER_FORMATS, FORMAT
from .files import MANIFEST, SUMMARY, Files

SUFFIX = ".safetensors"


def find_fault(files: Files) -> str:
    """Return what is wrong with the files of an export, in one clause; "" if nothing is."""
    return next(_find_faults(files), "")


def describe_files(files: Files) -> str:
    """Return what the files of an export are, in one clause."""
    summary = json.loads(files[SUMMARY])
    vectors = sum(record["vectors"] for record in summary["operations"])
    return f"{vectors} vectors of {len(summary['operations'])} operations, {summary['format']}, specification {summary['spec']}"


def _find_faults(files: Files) -> Iterator[str]:
    if MANIFEST not in files:
        yield f"there is no {MANIFEST}"
        return
    stated = {}
    for line in files[MANIFEST].decode("utf-8", "replace").splitlines():
        digest, _, name = line.partition("  ")
        stated[name] = digest
    for name, digest in stated.items():
        if name not in files:
            yield f"{name} is missing"
        elif hashlib.sha256(files[name]).hexdigest() != digest:
            yield f"{name} is not the file that {MANIFEST} has the hash of"
    yield from (f"{name} is not in {MANIFEST}" for name in sorted(files.keys() - stated.keys() - {MANIFEST}))
    try:
        summary = json.loads(files[SUMMARY])
        records = {record["operation"]: record["vectors"] for record in summary["operations"]}
    except (KeyError, ValueError, TypeError) as error:
        yield f"{SUMMARY} cannot be read ({error})"
        return
    if summary.get("format") not in (FORMAT, *EARLIER_FORMATS):
        yield f"{SUMMARY} has the format {summary.get('format')!r}; this version reads {FORMAT}"
        return
    for name in sorted({*records, *(name.removesuffix(SUFFIX) for name in files if name.endswith(SUFFIX))}):
        if name not in records or f"{name}{SUFFIX}" not in files:
            yield f"{name} is in {SUMMARY} or has a file, and not both"
        elif fault := find_fault_of_file(files[f"{name}{SUFFIX}"], name, records[name]):
            yield f"{name}{SUFFIX}: {fault}"


def find_fault_of_file(data: bytes, operation: str, count: int) -> str:
    """Return what is wrong with the file of an operation, in one clause; "" if nothing is."""
    try:
        header, arrays = read_file(data)
    except (MalformedMessage, ValueError, OverflowError) as error:
        return str(error)
    metadata = header.metadata
    if metadata.get("format") not in (FORMAT, *EARLIER_FORMATS):
        return f"its format is {metadata.get('format')!r}"
    if (metadata.get("operation"), metadata.get("count")) != (operation, str(count)):
        return f"it has {metadata.get('count')} vectors of {metadata.get('operation')}"
    faults = (_find_fault_of_vector(arrays, metadata, number) for number in range(count))
    return next((f"vector {number}: {fault}" for number, fault in enumerate(faults) if fault), "")


def read_file(data: bytes) -> tuple[Header, dict[str, ProcessArray]]:
    """Return the header and the arrays of a file. Raise MalformedMessage if it is none."""
    if len(data) < LENGTH.size:
        raise MalformedMessage("it is cut off")
    (size,) = LENGTH.unpack_from(data)
    if size > len(data) - LENGTH.size:
        raise MalformedMessage("it is cut off")
    header = read_header(data[LENGTH.size : LENGTH.size + size])
    if header.data_bytes != len(data) - LENGTH.size - size:
        raise MalformedMessage("its arrays have other bytes than the header says")
    return header, unpack(header, data[LENGTH.size + size :])


def _find_fault_of_vector(arrays: Mapping[str, ProcessArray], metadata: Mapping[str, str], number: int) -> str:
    """Return what is wrong with a vector: each result has its value and its interval, whose ends are in order."""
    if missing := [key for key in ("dtype", "class", "law") if f"{number}.{key}" not in metadata]:
        return f"it has no {missing[0]}"
    results = [name for name in arrays if name.split(".")[:2] == [str(number), "low"]]
    if not results:
        return "it has no low"
    for low in results:
        names = [low.replace(".low", f".{other}", 1) for other in ("value", "high")]
        if missing := [name for name in names if name not in arrays]:
            return f"it has no {missing[0].partition('.')[2]}"
        low_values, high_values = (arrays[name].values for name in (low, names[1]))
        if not low_values.shape == high_values.shape == arrays[names[0]].shape:
            return "its value, low and high have different shapes"
        if low_values.dtype.kind == "f" and not np.all(low_values <= high_values):
            return "low is above high"
    return ""
