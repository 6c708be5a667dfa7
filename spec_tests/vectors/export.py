"""Write the vectors of an operation as one safetensors file. docs/vectors.md explains the format."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..deviations import deviations_of
from ..processes.message import ProcessArray, format_keyword, pack
from ..specification.carriers import CODES, Carrier
from ..specification.formats import INTEGER
from ..specification.narrow_formats import NARROW_FORMATS, NarrowFormat
from ..specification.pytree import leaves
from ..specification.version import SPEC_VERSION, __version__
from .candidates import Candidate, Domain, find_candidates
from .catches import find_catches
from .cover import choose, list_kinds
from .plain_form import is_default

FORMAT = "spec_tests vectors 2"
INTEGER_DTYPE = "int64"  # of results that may have any dtype of integers
EARLIER_FORMATS = ("spec_tests vectors 1",)  # which have each keyword, also at its default


@dataclass(frozen=True)
class Request:
    """Which vectors are asked for. The same request makes the same files."""

    seed: int = 0
    count: int = 0  # random ones of each operation, besides those that are chosen
    dtypes: tuple[str, ...] = ()  # all, if it is empty
    domain: Domain = field(default_factory=dict)
    names_bugs: bool = False  # whether each vector says which known bugs it catches


@dataclass(frozen=True)
class Vectors:
    """The vectors of an operation, and what is known of them."""

    operation: str
    chosen: list[Candidate]  # those that were chosen come first, then the random ones
    chosen_count: int
    caught: dict[str, set[int]] | None  # for each known bug the numbers of the vectors that catch it; None if nobody asked

    def record(self, size: int) -> dict[str, Any]:
        """Return what vectors.json says of the operation. `size` is the number of bytes of its file."""
        record = {
            "operation": self.operation,
            "vectors": len(self.chosen),
            "chosen": self.chosen_count,
            "plain": sum(candidate.is_plain for candidate in self.chosen),
            "bytes": size,
        }
        if self.caught is None:
            return record
        kinds = {deviation.id: deviation.kind for deviation in deviations_of(self.operation)}
        by_kind = {kind: [0, 0] for kind in sorted(set(kinds.values()))}
        for deviation, numbers in self.caught.items():
            by_kind[kinds[deviation]][0] += bool(numbers)
            by_kind[kinds[deviation]][1] += 1
        return record | {
            "deviations": len(self.caught),
            "caught": sum(bool(numbers) for numbers in self.caught.values()),
            "caught of each kind": by_kind,
            "missed": sorted(deviation for deviation, numbers in self.caught.items() if not numbers),
        }


def build_vectors(operation: str, request: Request) -> Vectors | None:
    """Return vectors of every kind of call that the draws and the laws make, and random ones. None if no call can be a vector."""
    candidates = find_candidates(operation, request.seed, request.dtypes, request.domain)

    def is_allowed(number: int) -> bool:
        return candidates[number].is_claimed

    kinds = [frozenset(list_kinds(candidate)) for candidate in candidates]
    numbers = choose(kinds, [candidate.size for candidate in candidates], is_allowed)
    rest = [number for number in range(len(candidates)) if number not in numbers]
    random.Random(f"{operation} {request.seed}").shuffle(rest)
    others = (number for number in rest if is_allowed(number))
    chosen = [candidates[number] for number in (*numbers, *(next(others, -1) for _ in range(request.count))) if number >= 0]
    if not chosen:
        return None
    return Vectors(operation, chosen, len(numbers), find_catches(operation, chosen) if request.names_bugs else None)


def pack_vectors(vectors: Vectors) -> bytes:
    """Return the file of the vectors of one operation."""
    metadata = {"format": FORMAT, "operation": vectors.operation, "spec": SPEC_VERSION, "suite": __version__}
    metadata["count"] = str(len(vectors.chosen))
    arrays: dict[str, ProcessArray] = {}
    for number, candidate in enumerate(vectors.chosen):
        metadata |= {f"{number}.{key}": text for key, text in _describe(candidate).items()}
        if vectors.caught is not None:
            found = sorted(deviation for deviation, numbers in vectors.caught.items() if number in numbers)
            metadata[f"{number}.catches"] = " ".join(found)
        arrays |= {f"{number}.{name}": array for name, array in _list_arrays(candidate)}
    return pack(metadata, arrays)


def _describe(candidate: Candidate) -> dict[str, str]:
    """Return what the metadata say of a vector besides what it catches. A keyword at its default is left out."""
    call, operation = candidate.call, candidate.call.operation
    defaults = operation.spec.defaults
    arrays = {path.partition("[")[0] for path, x in _list_leaves(call) if isinstance(x, np.ndarray)}
    keywords = {
        f"keywords.{name}": format_keyword(value)
        for name, value in call.keywords.items()
        if name != "wrt" and name not in arrays and name not in operation.spec.positional
        if not (name in defaults and is_default(value, defaults[name]))
    }
    conventions = {f"conventions.{name}": value for name, value in call.conventions.items()}
    plain = format_keyword(candidate.is_plain)
    about = {"dtype": operation.dtype, "class": operation.precision, "law": candidate.law, "plain": plain}
    return {**about, **keywords, **conventions}


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
            integer = operation.spec.declaration.integer_dtypes.get(name, "int64")
            dtype = {"f": floating, "b": "bool"}.get(x.dtype.kind, integer)
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
    with np.errstate(invalid="ignore"):  # an end of which nothing is claimed has no code
        return ProcessArray(carrier.dtype, carrier.store(numbers))


def _as_stored(values: np.ndarray, storage: str) -> np.ndarray:
    """Return the numbers in a dtype. Of integers, the ends of which nothing is claimed are the least and the largest."""
    if storage == INTEGER_DTYPE:
        ends = np.iinfo(np.int64)
        finite = np.where(np.isfinite(values), values, 0).astype(np.int64)
        return np.where(np.isneginf(values), ends.min, np.where(np.isposinf(values), ends.max, finite))
    with np.errstate(over="ignore"):
        return values.astype("float32" if storage == "bfloat16" else storage)


def _list_results(candidate: Candidate) -> Iterator[tuple[str, str, Any]]:
    """Yield the name, the dtype, and the function that cuts it out of a vector, of each result."""
    call, operation = candidate.call, candidate.call.operation
    rules = operation.spec.results
    if call.parts is None:
        wrt, stored = call.keywords.get("wrt", ""), operation.spec.dtype or operation.result_format(call).name
        yield wrt if isinstance(wrt, str) else wrt[0], INTEGER_DTYPE if rules.get("") == INTEGER else stored, lambda x: x
        return
    for part in call.parts:
        stored = INTEGER_DTYPE if rules.get(part.name) == INTEGER else part.storage.name
        yield part.name, stored, lambda x, part=part: x[part.elements].reshape(part.shape)


def dotted(path: str) -> str:
    """Return weights.layers.0.w_q for weights['layers'][0]['w_q']."""
    return re.sub(r"\['?([^'\]]+)'?\]", r".\1", path)
