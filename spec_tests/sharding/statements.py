"""What a sharded backend states: `world_size` and `shards`. The file is read before it runs, because running it needs ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..implementation.environment import DEVICES, assigned_names, backend_file, has_devices, read_literal, states_ranks
from ..implementation.lookup import BackendError
from ..specification.registry import operations, specification
from .shards import Cut, as_cut

RESULT = "result"  # what a single result is called in `shards`
MAX_WORLD_SIZE = 64
EXAMPLE = 'shards = {"linear": {"x": -1, "weight": 1, "result": None}}'


def choose_world_size(text: str, folder: Path, wanted: int | None) -> int | None:
    """Return on how many ranks the backend runs, None if it is not sharded. Raise BackendError if `wanted` is not possible."""
    path = backend_file(text, folder)
    names = assigned_names(path) if path is not None else frozenset()
    label = f"--backend={text}"
    if path is None or not states_ranks(path):
        if wanted is not None:
            raise BackendError(
                f"{label}: --world-size={wanted} is for a backend that runs on several ranks, which states {EXAMPLE}"
            )
        return None
    if "shards" in names and has_devices(path):
        raise BackendError(
            f"{label}: it states shards, and ranks = {DEVICES!r}: a process with all devices gets whole arrays; remove one"
        )
    if "world_size" not in names:
        property_stated = "shards" if "shards" in names else "ranks"
        raise BackendError(
            f"{label}: it states {property_stated} and no world_size; add a line as world_size = 2, or world_size = (1, 2, 4)"
        )
    stated = read_literal(path, "world_size")
    sizes = stated if isinstance(stated, tuple | list) else (stated,)
    if not sizes or not all(type(size) is int and 1 <= size <= MAX_WORLD_SIZE for size in sizes):
        raise BackendError(
            f"{label}: its world_size is read before it runs; write an int or a tuple of them, up to {MAX_WORLD_SIZE}"
        )
    if wanted is not None and wanted not in sizes:
        raise BackendError(f"{label}: --world-size={wanted}, and its world_size is {', '.join(map(str, sizes))}")
    return int(sizes[0] if wanted is None else wanted)


class Shards:
    """How the arguments and the results of each operation are cut. What is not stated is whole on each rank."""

    def __init__(self, stated: Mapping[str, Mapping[str, Any]]):
        """Take what the backend states. Raise ValueError, whose text is one sentence, if that is of no known form."""
        for complaint in find_complaints(stated):
            raise ValueError(complaint)
        self.cuts = {(operation, name): as_cut(x) for operation, of in stated.items() for name, x in of.items()}

    def of_argument(self, operation: str, name: str) -> Cut | None:
        """Return how an argument is cut. Its gradient is cut alike. `name` may be a path, as weights['w_q']."""
        return self.cuts.get((operation, name.partition("[")[0]))

    def of_result(self, operation: str, name: str = "") -> Cut | None:
        """Return how a result is cut. Its cotangent is cut alike. `name` is "" for a single result."""
        return self.cuts.get((operation, name or RESULT))


def find_complaints(stated: Any) -> Iterator[str]:
    """Yield what is wrong with the statement, each in one sentence."""
    if not isinstance(stated, Mapping) or not all(isinstance(of, Mapping) for of in stated.values()):
        yield f"its shards is no dict of dicts; write it as {EXAMPLE}"
        return
    for operation, of in stated.items():
        if operation not in operations():
            yield f"its shards name {operation!r}, which is no operation (a gradient is cut as its operation is)"
            continue
        spec = specification(operation)
        results = tuple(spec.results) if spec.has_several_results else (RESULT,)
        for name, value in of.items():
            if name not in (*spec.positional, *results):
                there = ", ".join((*spec.positional, *results))
                yield f"its shards of {operation} name {name!r}; there are {there}"
            try:
                as_cut(value)
            except ValueError as error:
                yield f"its shards of {operation} have {name} as {error}"
