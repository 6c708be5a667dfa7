"""What each rank computes by the equation of an operation from its own parts, and how the ranks' shares become the results.

Nothing is known of the operation but its equation. Along each axis of a mesh the shares are summed, or they are parts of the
result, or copies of it; an argument is used as it is cut, or gathered first. Which of these holds is found by trying: the
results have to be the right ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from reference_numpy._marks import float64

from ...calls.asked_rank import RANK
from ...calls.call import Call
from ...calls.ranks import SUMMANDS, Placed
from ...specification.registry import Specification
from ..evidence import truth_of
from ..operator.alternative import Named, call_right
from ..result_parts import map_parts
from .mesh import take_part
from .mesh_layout import MeshLayout, find_cuts, is_cut, settle
from .steps import Manner, Values, total

SUM, PART, COPY = "sum", "part", "copy"  # what the shares are along an axis of the mesh
COUNTS_OF_HEADS = ("num_heads", "num_kv_heads")  # arguments that count what a rank has a part of
KEPT = 8  # calls whose shares are kept for other mistakes


@dataclass(frozen=True)
class Mistake:
    """A step along one axis of the mesh that is taken wrongly, for some of the results or gradients."""

    axis: int
    manner: Manner | None = None
    parts: frozenset[str] = frozenset()
    factor: float = 1.0  # of the shares
    multiplies_terms: bool = False  # and of what is added to their sum
    other: int | None = None  # an axis along which the shares are summed by mistake
    is_instead: bool = False  # of the right axis
    term: str = ""  # an argument that is added once, as `weight` says of the coordinates of a rank
    weight: Callable[[tuple[int, ...]], float] | None = None


@dataclass(frozen=True)
class Shares:
    """One way in which the ranks may compute an operation."""

    layout: MeshLayout
    gathered: tuple[frozenset[str], ...]  # along each axis of the mesh, the arguments that are used whole
    summed: tuple[bool, ...]
    known: list[tuple[Named, Values]] = field(default_factory=list, compare=False, repr=False)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Return the arguments that are added to a sum of shares once."""
        forward = self.layout.forward
        optional = [name for name in forward.declaration.linear if forward.parameters[name].default is None]
        is_one = not forward.has_several_results
        return tuple(x for x in optional if is_one and any(self.is_added_along(x, axis) for axis in self.layout.axes))

    def is_added_along(self, name: str, axis: int) -> bool:
        return self.summed[axis] and self.layout.of_argument(name)[axis] is None

    def way(self, path: str, axis: int) -> str:
        """Return what the shares of a result, or of a gradient, are along an axis of the mesh."""
        layout = self.layout
        if not layout.spec.is_gradient:
            return SUM if self.summed[axis] else PART if is_cut(layout.of_output(path)[axis]) else COPY
        name = path.partition("[")[0]
        if is_cut(layout.of_argument(name)[axis]) and name not in self.gathered[axis]:
            return PART
        is_joined = any(is_cut(layout.of_result(result)[axis]) for result in layout.list_results())
        return SUM if (self.summed[axis] or is_joined) and not (name in self.terms and self.summed[axis]) else COPY

    def evaluate(self, spec: Specification, named: Named, mistake: Mistake | None = None) -> Any:
        """Return the answer of the rank that is asked about."""
        shares = self._find_shares(spec, named)
        return map_parts(lambda path, *own: self._finish(path, own, named, mistake)[RANK.get()], spec, *shares)

    # --- the shares -----------------------------------------------------------------------------------------------------------

    def _find_shares(self, spec: Specification, named: Named) -> Values:
        for other, shares in self.known:
            if other.keys() == named.keys() and all(other[name] is named[name] for name in named):
                return shares
        shares = self._compute(spec, named)
        self.known[:] = [(named, shares), *self.known[: KEPT - 1]]
        return shares

    def _compute(self, spec: Specification, named: Named) -> Values:
        pieces = {name: self._divide(name, x, named) for name, x in named.items()}
        own = [{name: of_ranks[rank] for name, of_ranks in pieces.items()} for rank in range(self.layout.mesh.count)]
        own = [{**x, **self._count_heads(named, at)} for x, at in zip(own, self.layout.mesh.coordinates, strict=True)]
        left_out = {} if spec.is_gradient else dict.fromkeys(self.terms)
        found = [None if _has_no_heads(x) else call_right(spec, {**x, **left_out}) for x in own]
        some = next(y for y in found if y is not None)
        return [y if y is not None else self._zeros(spec, x, some) for x, y in zip(own, found, strict=True)]

    def _zeros(self, spec: Specification, own: Named, like: Any) -> Any:
        """Return the share of a rank that has no heads."""
        return map_parts(lambda path, y: own[path] * 0.0 if spec.is_gradient else y * 0.0, spec, like)

    def _divide(self, name: str, x: Any, named: Named) -> Values:
        if not (hasattr(x, "shape") or isinstance(x, dict | list | tuple)):
            return [x] * self.layout.mesh.count
        if name == "cotangent":
            return self._divide_cotangent(x, named)
        placed = settle(self.layout.of_argument(name), named)
        used = [None if name in self.gathered[axis] else cut for axis, cut in enumerate(placed)]
        return self.layout.mesh.divide(used, x)

    def _divide_cotangent(self, x: Any, named: Named) -> Values:
        results = self.layout.list_results()
        if results == [""]:
            return self._cut_cotangent("", x, named)
        pieces = [self._cut_cotangent(name, y, named) for name, y in zip(results, x, strict=True)]
        return [tuple(of_rank) for of_rank in zip(*pieces, strict=True)]

    def _cut_cotangent(self, name: str, x: Any, named: Named) -> Values:
        placed = settle(self.layout.of_result(name), named)
        used = [None if is_summed else cut for is_summed, cut in zip(self.summed, placed, strict=True)]
        return [x] * self.layout.mesh.count if x is None else self.layout.mesh.divide(used, x)

    def _count_heads(self, named: Named, coordinate: tuple[int, ...]) -> dict[str, int]:
        """Return how many heads a rank has, as far as its arguments say how many there are."""
        counts, sizes = {name: named[name] for name in COUNTS_OF_HEADS if named.get(name) is not None}, self.layout.mesh.sizes
        stated = dict[str, int]()
        for name in self.layout.forward.positional:
            for axis, cut in find_cuts(self.layout.of_argument(name)):
                stated |= cut.count_own(named, coordinate[axis], sizes[axis])
        if stated or not counts:
            return stated
        share = int(np.prod([size for size, is_summed in zip(sizes, self.summed, strict=True) if is_summed]))
        if any(count % share for count in counts.values()):
            raise NotImplementedError("a number of heads that the ranks do not divide")
        return {name: count // share for name, count in counts.items()}

    # --- what becomes of them ---------------------------------------------------------------------------------------------------

    def _finish(self, path: str, shares: Sequence[Any], named: Named, mistake: Mistake | None) -> Values:
        """Return a result, or a gradient, as the ranks have answered it."""
        mesh, placed, pieces = self.layout.mesh, settle(self.layout.of_output(path), named), list(shares)
        if (
            mistake is not None
            and mistake.factor != 1
            and not mistake.multiplies_terms
            and path.partition("[")[0] in mistake.parts
        ):
            pieces = [y * mistake.factor for y in pieces]
        for axis in self.layout.axes:
            is_wrong = mistake is not None and mistake.axis == axis and path.partition("[")[0] in mistake.parts
            if mistake is None or not is_wrong or not mistake.is_instead:
                manner, way, to = mistake.manner if mistake and is_wrong else None, self.way(path, axis), placed[axis]
                pieces = mesh.along(axis, pieces, partial(_meet, way, to, manner))
            if mistake is not None and is_wrong and mistake.other is not None:
                pieces = mesh.along(mistake.other, pieces, lambda own: [total(own)] * len(own))
        if not self.layout.spec.is_gradient:
            pieces = self._add_terms(pieces, placed, named, mistake)
        if mistake is not None and mistake.multiplies_terms:
            pieces = [y * mistake.factor for y in pieces]
        return mesh.unite(placed, pieces)

    def _add_terms(self, pieces: Values, placed: Sequence[Placed], named: Named, mistake: Mistake | None) -> Values:
        for name in self.terms:
            if named.get(name) is not None:
                xs, weigh = self._divide(name, named[name], named), mistake.weight if mistake and mistake.term == name else None
                weights = [(weigh or self.weigh(name, placed))(at) for at in self.layout.mesh.coordinates]
                pieces = [_plus(y, float64(x), weight) for y, x, weight in zip(pieces, xs, weights, strict=True)]
        return pieces

    def weigh(self, name: str, placed: Sequence[Placed]) -> Callable[[tuple[int, ...]], float]:
        """Return how often a rank adds a term, by its coordinates: where ranks answer summands, the first alone."""
        firsts = [axis for axis in self.layout.axes if placed[axis] == SUMMANDS and self.is_added_along(name, axis)]
        return lambda at: float(all(at[axis] == 0 for axis in firsts))


def _has_no_heads(own: Named) -> bool:
    return any(own.get(name) == 0 for name in COUNTS_OF_HEADS)


def _plus(y: Any, term: Any, weight: float) -> Any:
    return y if weight == 0 else y + (term if weight == 1 else term * weight)


def _meet(way: str, to: Placed, manner: Manner | None, own: Values) -> Values:
    """Return what the ranks along an axis have of a result, from their shares."""
    if way == PART:
        if not is_cut(to):
            raise ValueError("parts of an array that is not cut")
        return own if manner is None else [manner(own, rank) for rank in range(len(own))]
    if way == SUM and manner is None and to == SUMMANDS:
        return own
    ys = [manner(own, rank) for rank in range(len(own))] if manner else [total(own)] * len(own) if way == SUM else own
    if isinstance(to, str):
        return [ys[0], *(y * 0.0 for y in ys[1:])]
    return ys if to is None else [take_part(to, y, rank, len(own)) for rank, y in enumerate(ys)]


# --- which way holds ----------------------------------------------------------------------------------------------------------


def find_shares(layout: MeshLayout, calls: Sequence[Call]) -> Shares | None:
    """Return the way in which the ranks may compute these calls: one whose results are right. None if there is none."""
    ways = _list_ways(layout) if calls else ()
    return next((way for way in ways if all(is_right(layout, way.evaluate, call) for call in calls)), None)


def _list_ways(layout: MeshLayout) -> Iterator[Shares]:
    for ways in product(*(_list_along(layout, axis) for axis in layout.axes)):
        yield Shares(layout, tuple(gathered for gathered, _ in ways), tuple(is_summed for _, is_summed in ways))


def _list_along(layout: MeshLayout, axis: int) -> list[tuple[frozenset[str], bool]]:
    """Return what may be gathered along an axis of the mesh, and whether the shares may be summed there."""
    names = [name for name in layout.forward.positional if is_cut(layout.of_argument(name)[axis])]
    first = layout.forward.positional[:1]
    sets = [(), [name for name in names if name in first], [name for name in names if name not in first], names]
    results = [layout.of_result(name)[axis] for name in layout.list_results()]
    found = []
    for gathered in dict.fromkeys(map(frozenset, sets)):
        is_used = len(gathered) < len(names)
        ways = [False] if not is_used else [True] if None in results else [True, False]
        found += [(gathered, is_summed) for is_summed in ways]
    return found


def is_right(layout: MeshLayout, equation: Callable[[Specification, Named], Any], call: Call) -> bool:
    """Whether an equation gives each rank the right results of a call."""
    spec, truth = layout.spec, truth_of(call)

    def evaluate(*arguments: Any, **keywords: Any) -> Any:
        return equation(spec, {**dict(zip(spec.positional, arguments, strict=False)), **keywords})

    try:
        for rank in range(layout.mesh.count):
            with np.errstate(all="ignore"):
                values = np.asarray(call.at_rank(rank).evaluate(np.asarray, evaluate))
            if values.shape != truth.value.shape or not truth.accepts_all(truth.storage.round(values)):
                return False
    except Exception:  # an equation for other shapes, or without an option of the call
        return False
    return True
