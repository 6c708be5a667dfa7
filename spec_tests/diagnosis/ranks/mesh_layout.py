"""What a backend states of the arrays of one operation along each axis of a mesh of ranks, as diagnoses see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...calls.call import Call
from ...calls.ranks import SUMMANDS, Placed, StatedCut, StatedShards, find_stated
from ...specification.registry import Specification, specification
from ..operator.alternative import Named
from .mesh import Mesh


@dataclass(frozen=True)
class MeshLayout:
    """Where the ranks have the arguments, the results and the gradients of one operation."""

    spec: Specification
    mesh: Mesh
    stated: StatedShards
    dtype: str

    @classmethod
    def of(cls, calls: Sequence[Call]) -> MeshLayout | None:
        """Return the layout of calls of one operation, None if its arrays are not all in one mesh, or on one rank."""
        operation, stated = calls[0].operation, find_stated(calls[0])
        axes = stated.find_axes(operation.spec.forward if operation.spec.is_gradient else operation.name) if stated else None
        if stated is None or not axes:
            return None
        sizes = tuple(size or operation.backend.framework.world_size for size in axes.values())
        return cls(operation.spec, Mesh(tuple(axes), sizes), stated, operation.dtype)

    @property
    def forward(self) -> Specification:
        return specification(self.spec.forward) if self.spec.is_gradient else self.spec

    @property
    def axes(self) -> range:
        return range(len(self.mesh.sizes))

    def of_argument(self, name: str) -> tuple[Placed, ...]:
        return self.stated.list_placed(self.forward.name, "argument", name)

    def of_result(self, name: str) -> tuple[Placed, ...]:
        """Return where a result of the operation is, also if the calls are of its gradient."""
        return self.stated.list_placed(self.forward.name, "result", name)

    def of_output(self, path: str) -> tuple[Placed, ...]:
        """Return where a result, or a gradient, is."""
        return self.stated.list_placed(self.forward.name, "gradient", path) if self.spec.is_gradient else self.of_result(path)

    def list_results(self) -> list[str]:
        return list(self.forward.results) if self.forward.has_several_results else [""]


def settle(placed: Sequence[Placed], named: Named) -> tuple[Placed, ...]:
    """Return placements with the numbers of heads of one call."""
    return tuple(cut.at(named) if is_cut(cut) else cut for cut in placed)  # type: ignore[union-attr]


def is_cut(placed: Placed) -> bool:
    return placed is not None and placed != SUMMANDS


def find_cuts(placed: Sequence[Placed]) -> list[tuple[int, StatedCut]]:
    """Return the axes of the mesh along which an array is cut, and how."""
    return [(axis, cut) for axis, cut in enumerate(placed) if cut is not None and not isinstance(cut, str)]
