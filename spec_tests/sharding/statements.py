"""What a sharded backend states: `world_size`, `mesh` and `shards`. The file is read before it runs: running it needs ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..implementation.environment import DEVICES, assigned_names, backend_file, has_devices, read_literal, states_ranks
from ..implementation.lookup import BackendError
from ..processes.message import ProcessArray
from ..specification.registry import operations, specification
from .placements import PARTIAL, OnMesh, Partial, Placement, as_placement, divide, is_sum, list_names, of_gradient
from .shards import Cut

RESULT = "result"  # what a single result is called in `shards`
OF_RESULT = "result."  # before the name of a result that an argument has, too
GRADIENT = "gradient."  # before the name of an argument
MESH = "mesh"
MAX_WORLD_SIZE = 64
EXAMPLE = 'shards = {"linear": {"x": -1, "weight": 1, "result": None}}'
MESH_EXAMPLE = 'mesh = {"dp": 2, "tp": 2}'


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
    """Where the ranks have the arguments and the results of each operation. What is not stated is whole on each rank."""

    def __init__(self, stated: Mapping[str, Mapping[str, Any]], mesh: Mapping[str, int] | None = None):
        """Take what the backend states. Raise ValueError, whose text is one sentence, if that is of no known form."""
        for complaint in find_complaints(stated, mesh):
            raise ValueError(complaint)
        self.mesh = dict(mesh or {})
        self.placements = {(operation, name): as_placement(x, mesh) for operation, of in stated.items() for name, x in of.items()}

    def place_argument(self, operation: str, name: str) -> Placement:
        """Return where an argument is. `name` may be a path, as weights['w_q']."""
        return self.placements.get((operation, name.partition("[")[0]))

    def place_gradient(self, operation: str, name: str) -> Placement:
        """Return where the gradient of an argument is: as stated of it, or as the argument is, whole where that has summands."""
        name = name.partition("[")[0]
        stated = (operation, f"{GRADIENT}{name}")
        return self.placements[stated] if stated in self.placements else of_gradient(self.place_argument(operation, name))

    def place_result(self, operation: str, name: str = "") -> Placement:
        """Return where a result is. `name` is "" for a single result."""
        own = (operation, f"{OF_RESULT}{name}")
        return self.placements[own] if own in self.placements else self.placements.get((operation, name or RESULT))

    def place_cotangent(self, operation: str, name: str = "") -> Placement:
        """Return where the cotangent of a result is: as the result is, whole where that has summands."""
        return of_gradient(self.place_result(operation, name))

    def is_plain(self, operation: str) -> bool:
        """Whether each array of the operation is whole or cut along one axis, at places that its length alone decides."""
        own = {key: x for (stated, key), x in self.placements.items() if stated == operation}
        are_plain = all(x is None or (isinstance(x, Cut) and x.is_plain) for x in own.values())
        return are_plain and not any(key.startswith(GRADIENT) for key in own)

    def find_axes(self, operation: str) -> dict[str, int] | None:
        """Return the axes of the mesh in which an operation has its arrays, {"": 0} of all ranks as one axis, None of both."""
        own = [x for (stated, _), x in self.placements.items() if stated == operation and x is not None]
        if not any(isinstance(x, OnMesh) for x in own):
            return {"": 0}
        return self.mesh if all(isinstance(x, OnMesh) for x in own) else None

    def list_placed(self, operation: str, kind: str, name: str) -> tuple[Cut | Literal["partial"] | None, ...]:
        """Return where an array is along each of these axes. The kind is argument, gradient or result."""
        place = {"argument": self.place_argument, "gradient": self.place_gradient, "result": self.place_result}[kind]
        placement, axes = place(operation, name), self.find_axes(operation) or {}
        along = placement.placements if isinstance(placement, OnMesh) else (placement,) * len(axes)
        return tuple(PARTIAL if isinstance(x, Partial) else x for x in along)

    def split_numbers(self, x: np.ndarray, dtype: str, count: int) -> list[np.ndarray]:
        """Return the summands that so many ranks are given of an array."""
        return [part.values for part in divide(Partial(), ProcessArray(dtype, x), count)]

    def adds_summands(self, name: str) -> bool:
        """Whether the ranks answer summands of some result of an operation, or of a gradient."""
        spec = specification(name)
        if spec.is_gradient:
            return any(is_sum(self.place_gradient(spec.forward, x)) for x in specification(spec.forward).positional)
        return any(is_sum(self.place_result(name, x)) for x in spec.results)

    def of_argument(self, operation: str, name: str) -> Cut | None:
        """Return how an argument is cut, None if it is not cut along one axis. Its gradient is cut alike."""
        placement = self.place_argument(operation, name)
        return placement if isinstance(placement, Cut) else None

    def of_result(self, operation: str, name: str = "") -> Cut | None:
        """Return how a result is cut, None if it is not cut along one axis. Its cotangent is cut alike."""
        placement = self.place_result(operation, name)
        return placement if isinstance(placement, Cut) else None


def find_complaints(stated: Any, mesh: Mapping[str, int] | None = None) -> Iterator[str]:
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
        known = {*spec.positional, *results}
        known |= {GRADIENT + name for name in spec.positional} | {OF_RESULT + name for name in results}
        for name, value in of.items():
            if name not in known:
                there = ", ".join((*spec.positional, *results))
                yield f"its shards of {operation} name {name!r}; there are {there}"
            try:
                placement = as_placement(value, mesh)
            except ValueError as error:
                yield f"its shards of {operation} have {name} as {error}"
                continue
            if unknown := [x for x in list_names(placement) if x not in spec.parameters]:
                yield f"its shards of {operation} cut {name} by {unknown[0]} heads; there is no argument {unknown[0]}"


def read_mesh(path: Path | None, world_size: int) -> dict[str, int] | None:
    """Return the axes of the mesh that a file states, None if it states none. Raise ValueError, whose text is one sentence."""
    if path is None or MESH not in assigned_names(path):
        return None
    stated = read_literal(path, MESH)
    if not isinstance(stated, dict) or not all(isinstance(name, str) and type(n) is int and n > 0 for name, n in stated.items()):
        raise ValueError(f"its mesh is read before it runs; write it as {MESH_EXAMPLE}")
    if prod(stated.values()) != world_size:
        raise ValueError(f"its mesh {stated} has {prod(stated.values())} ranks, and it runs on {world_size}")
    return stated
