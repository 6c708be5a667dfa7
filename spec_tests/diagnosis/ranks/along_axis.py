"""The equations that are known over ranks, where these are along one axis of a mesh and the others have copies or parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...calls.asked_rank import RANK
from ...calls.call import Call
from ...calls.ranks import SUMMANDS, Cut, Placed
from ...specification.registry import Specification
from ..operator.alternative import Alternative, Named
from ..operator.binding import bound
from ..result_parts import map_parts
from .equations import EquationOverRanks, list_equations
from .layout import Layout
from .mesh_layout import MeshLayout, settle
from .shares import is_right
from .steps import NARROW, Slip, Steps, Values


@dataclass(frozen=True)
class AxisStatement:
    """What a backend states along one axis of its mesh, as of ranks that are in one row."""

    layout: MeshLayout
    axis: int

    def of_argument(self, operation: str, name: str) -> Cut | None:
        return _as_cut(self.layout.of_argument(name)[self.axis])

    def of_result(self, operation: str, name: str = "") -> Cut | None:
        return _as_cut(self.layout.of_result(name)[self.axis])


def _as_cut(placed: Placed) -> Cut | None:
    return None if isinstance(placed, str) else placed


@dataclass(frozen=True)
class AlongAxis:
    """An equation over the ranks along one axis of the mesh."""

    layout: MeshLayout
    axis: int
    equation: EquationOverRanks
    row: Layout  # of the ranks along the axis

    def evaluate(self, spec: Specification, named: Named, slip: Slip | None = None, possible: list[Slip] | None = None) -> Any:
        """Return the answer of the rank that is asked about. The slips that are possible are added to a list."""
        mesh, results = self.layout.mesh, [None] * self.layout.mesh.count
        pieces = {name: self._divide(name, x, named) for name, x in named.items()}
        for ranks in mesh.groups(self.axis):
            steps, own = Steps(len(ranks), slip), {name: of_ranks[ranks[0]] for name, of_ranks in pieces.items()}
            for rank, y in zip(ranks, self.equation.evaluate(steps, self.row, own, self.row.split_all(own)), strict=True):
                results[rank] = y
            if possible is not None:
                possible += [x for x in steps.possible if x not in possible]

        def unite(path: str, *own: Any) -> Any:
            return mesh.unite(settle(self.layout.of_output(path), named), own)[RANK.get()]

        return map_parts(unite, spec, *results)

    def _divide(self, name: str, x: Any, named: Named) -> Values:
        if name == "cotangent" and self.layout.forward.has_several_results:
            raise NotImplementedError("the cotangents of several results")
        placed = settle(self.layout.of_result("") if name == "cotangent" else self.layout.of_argument(name), named)
        return self.layout.mesh.divide([None if at == self.axis else cut for at, cut in enumerate(placed)], x)


def list_along_axes(layout: MeshLayout, calls: Sequence[Call]) -> Iterator[Alternative]:
    """Yield the slips in equations that are known over the ranks along one axis of the mesh."""
    names = layout.forward.positional if layout.spec.is_gradient else layout.list_results()
    if any(SUMMANDS in layout.of_output(name) for name in names):
        return
    for axis, size in enumerate(layout.mesh.sizes):
        row = replace(Layout.of(calls, AxisStatement(layout, axis)), count=size)
        for equation in list_equations(row) if size > 1 else ():
            along = AlongAxis(layout, axis, equation, row)
            if all(is_right(layout, along.evaluate, call) for call in calls):
                yield from _list_slips(along, calls)


def _list_slips(along: AlongAxis, calls: Sequence[Call]) -> Iterator[Alternative]:
    layout, possible = along.layout, list[Slip]()
    is_narrow = calls[0].operation.storage.precision < 24  # where everything may be rounded to 16 bits
    for call in calls:
        with np.errstate(all="ignore"):
            along.evaluate(layout.spec, {name: x for name, x in call.named.items() if name != "wrt"}, None, possible)
    for slip in possible:
        if not (is_narrow and slip.pattern in NARROW):
            said, compute = layout.mesh.say(along.axis, slip.said), bound(_evaluate, along, slip)
            yield Alternative(layout.spec.name, said, compute, slip.cost, evaluations=layout.mesh.count)


def _evaluate(spec: Specification, named: Named, along: AlongAxis, slip: Slip) -> Any:
    return along.evaluate(spec, named, slip)
