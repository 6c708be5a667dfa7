"""Write the vectors of an operation as one safetensors file, and say what they catch. docs/vectors.md explains the format."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..deviations import deviations_of
from ..processes.message import ProcessArray, format_keyword, pack
from ..specification.carriers import CODES, Carrier
from ..specification.narrow_formats import NARROW_FORMATS, NarrowFormat
from ..specification.pytree import leaves
from ..specification.version import SPEC_VERSION, __version__
from .candidates import Candidate, find_candidates
from .cover import choose, measure

FORMAT = "spec_tests vectors 1"


@dataclass(frozen=True)
class Vectors:
    """The vectors of an operation, and what is known of them."""

    operation: str
    chosen: list[Candidate]  # those that were chosen for what they catch come first
    caught: dict[str, set[int]]  # for each deviation, the numbers of the vectors that catch it
    chosen_count: int  # how many were chosen for what they catch; the others are random

    @property
    def caught_count(self) -> int:
        return sum(bool(numbers) for numbers in self.caught.values())

    def record(self, size: int) -> dict[str, Any]:
        """Return what the summary says of the operation. `size` is the number of bytes of its file."""
        kinds = {deviation.id: deviation.kind for deviation in deviations_of(self.operation)}
        by_kind = {kind: [0, 0] for kind in sorted(set(kinds.values()))}
        for deviation, numbers in self.caught.items():
            by_kind[kinds[deviation]][0] += bool(numbers)
            by_kind[kinds[deviation]][1] += 1
        return {
            "operation": self.operation,
            "vectors": len(self.chosen),
            "chosen": self.chosen_count,
            "bytes": size,
            "deviations": len(self.caught),
            "caught": self.caught_count,
            "caught of each kind": by_kind,
            "missed": sorted(deviation for deviation, numbers in self.caught.items() if not numbers),
        }


def build_vectors(operation: str, count: int, seed: int, dtypes: tuple[str, ...] = ()) -> Vectors | None:
    """Return vectors that catch what any call catches, and `count` random ones. None if no call can be a vector."""
    candidates = find_candidates(operation, seed, dtypes)
    if not candidates:
        return None
    caught = measure(operation, candidates)
    numbers = choose(caught, [candidate.size for candidate in candidates])
    rest = [number for number in range(len(candidates)) if number not in numbers]
    numbers_of_all = numbers + random.Random(f"{operation} {seed}").sample(rest, min(count, len(rest)))
    places = {number: place for place, number in enumerate(numbers_of_all)}
    kept = {deviation: {places[n] for n in found if n in places} for deviation, found in caught.items()}
    return Vectors(operation, [candidates[number] for number in numbers_of_all], kept, len(numbers))


def pack_vectors(vectors: Vectors) -> bytes:
    """Return the file of the vectors of one operation."""
    metadata = {"format": FORMAT, "operation": vectors.operation, "spec": SPEC_VERSION, "suite": __version__}
    metadata["count"] = str(len(vectors.chosen))
    arrays: dict[str, ProcessArray] = {}
    for number, candidate in enumerate(vectors.chosen):
        found = sorted(deviation for deviation, numbers in vectors.caught.items() if number in numbers)
        metadata |= {f"{number}.{key}": text for key, text in _describe(candidate).items()}
        metadata[f"{number}.catches"] = " ".join(found)
        arrays |= {f"{number}.{name}": array for name, array in _list_arrays(candidate)}
    return pack(metadata, arrays)


def _describe(candidate: Candidate) -> dict[str, str]:
    """Return what the metadata say of a vector besides what it catches."""
    call, operation = candidate.call, candidate.call.operation
    arrays = {path.partition("[")[0] for path, x in _list_leaves(call) if isinstance(x, np.ndarray)}
    keywords = {
        f"keywords.{name}": format_keyword(value)
        for name, value in call.keywords.items()
        if name != "wrt" and name not in arrays and name not in operation.spec.positional
    }
    conventions = {f"conventions.{name}": value for name, value in call.conventions.items()}
    return {"dtype": operation.dtype, "class": operation.precision, "law": candidate.law, **keywords, **conventions}


def _list_leaves(call: Any) -> Iterator[tuple[str, Any]]:
    for name, value in call.named.items():
        if name != "wrt":
            yield from leaves(value, name)


def _list_arrays(candidate: Candidate) -> Iterator[tuple[str, ProcessArray]]:
    """Yield the arguments, and the value, the lowest and the highest right result, of each result by its name."""
    call, operation = candidate.call, candidate.call.operation
    for path, x in _list_leaves(call):
        if isinstance(x, np.ndarray):
            name = path.partition("[")[0]
            if f := _narrow_format(call, name):
                yield dotted(path), _as_codes(x, f)
                continue
            floating = operation.argument_format(name, call.keywords).name
            dtype = {"f": floating, "b": "bool"}.get(x.dtype.kind, "int64")
            yield dotted(path), ProcessArray(dtype, x)
    low, high = candidate.expectation.ends
    for name, storage, of_part in _list_results(candidate):
        suffix = f".{dotted(name)}" if name else ""
        yield f"value{suffix}", ProcessArray("float64", of_part(np.asarray(call.value, dtype=np.float64)))
        narrow = NARROW_FORMATS.get(storage)
        for end, values in (("low", low), ("high", high)):
            y = of_part(np.asarray(values))
            yield f"{end}{suffix}", _as_codes(y, narrow) if narrow else ProcessArray(storage, _as_stored(y, storage))


def _narrow_format(call: Any, name: str) -> NarrowFormat | None:
    f = call.operation.named_format(name, call.keywords)
    return f if isinstance(f, NarrowFormat) else None


def _as_codes(numbers: np.ndarray, f: NarrowFormat) -> ProcessArray:
    """Return numbers of few bits as a message has them."""
    carrier = Carrier(f, CODES)
    return ProcessArray(carrier.dtype, carrier.store(numbers))


def _as_stored(values: np.ndarray, storage: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        return values.astype("float32" if storage == "bfloat16" else storage)


def _list_results(candidate: Candidate) -> Iterator[tuple[str, str, Any]]:
    """Yield the name, the dtype, and the function that cuts it out of a vector, of each result."""
    call, operation = candidate.call, candidate.call.operation
    if call.parts is None:
        wrt = call.keywords.get("wrt", "")
        yield wrt if isinstance(wrt, str) else wrt[0], operation.spec.dtype or operation.result_format(call).name, lambda x: x
        return
    for part in call.parts:
        yield part.name, part.storage.name, lambda x, part=part: x[part.elements].reshape(part.shape)


def dotted(path: str) -> str:
    """Return weights.layers.0.w_q for weights['layers'][0]['w_q']."""
    return re.sub(r"\['?([^'\]]+)'?\]", r".\1", path)


def write_vectors(
    folder: Path, names: tuple[str, ...], count: int, seed: int, dtypes: tuple[str, ...] = ()
) -> Iterator[dict[str, Any]]:
    """Write a file for each operation, and vectors.json at the end. Yield the record of each operation as it is written."""
    folder.mkdir(parents=True, exist_ok=True)
    records = []
    for name in names:
        if (vectors := build_vectors(name, count, seed, dtypes)) is None:
            continue
        data = pack_vectors(vectors)
        (folder / f"{name}.safetensors").write_bytes(data)
        records.append(vectors.record(len(data)))
        yield records[-1]
    summary = {"format": FORMAT, "spec": SPEC_VERSION, "suite": __version__, "seed": seed, "operations": records}
    (folder / "vectors.json").write_text(json.dumps(summary, indent=1) + "\n")
