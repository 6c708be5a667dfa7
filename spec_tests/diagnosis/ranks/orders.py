"""Parts of arrays that ranks take for others: those of another order, of one array, of another rank, or of another axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._marks import number

from ...calls.asked_rank import RANK
from ...calls.call import Call
from ...calls.ranks import SUMMANDS, Placed
from ...specification.pytree import leaves
from ...specification.registry import Specification
from ..evidence import wrong_in
from ..operator.alternative import Alternative, Named, call_right
from ..operator.binding import bound
from ..result_parts import map_parts, say_part, split_parts
from .mesh_layout import MeshLayout, find_cuts, settle
from .steps import SUMS, Manner, Values

COST = 0.4
SUMS_OF_SUMMANDS = (
    "each rank has {what} of its own part alone: it is not summed over the ranks",
    "{what}, summed over the ranks, is multiplied by the number of ranks",
    "{what} is the mean over the ranks, not the sum",
    "each rank has {what} of the first rank's part alone",
    "each rank leaves its own part out of {what}",
)


@dataclass(frozen=True)
class Reading:
    """What code takes the parts of an array to be: other parts, or those of other ranks."""

    words: str
    placed: tuple[Placed, ...]
    ranks: tuple[int, ...]  # whose part each rank's is taken for


def list_other_orders(layout: MeshLayout, calls: Sequence[Call], wrong: Sequence[Call]) -> Iterator[Alternative]:
    """Yield what comes of parts of arguments, results or gradients that code takes for others."""
    given = {name for call in calls for name, x in call.named.items() if any(isinstance(y, np.ndarray) for _, y in leaves(x))}
    names = [] if layout.spec.is_gradient else [name for name in layout.spec.positional if name in given]
    for together in _list_sets(layout, names):
        for readings in zip(*(_list_readings(layout, layout.of_argument(name)) for name in together), strict=False):
            if len({reading.words for reading in readings}) == 1:
                said = f"the parts of {' and '.join(together)} are taken for {readings[0].words}"
                compute = bound(_misread_arguments, layout, dict(zip(together, readings, strict=True)))
                yield Alternative(layout.spec.name, said, compute, COST + 0.05 * len(together))
    for path in _list_wrong(wrong):
        for reading in _list_readings(layout, layout.of_output(path)):
            said = f"the parts of {say_part(layout.spec, path)} that ranks answer are {reading.words}"
            yield Alternative(layout.spec.name, said, bound(_misread_result, layout, path, reading), COST)
    for name in names:
        yield from _list_sums(layout, name)


def _list_wrong(wrong: Sequence[Call]) -> list[str]:
    """Return the results, or the gradients, that are wrong in some call."""
    found = [path for call in wrong for path, x in split_parts(call, wrong_in(call)).items() if x.any()]
    return [*dict.fromkeys(path.partition("[")[0] for path in found)]


def _list_sets(layout: MeshLayout, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the arguments that may be mistaken together: each alone, and those with cuts of one kind along the same axes."""
    cut = {name: _list_kinds(layout, name) for name in names if find_cuts(layout.of_argument(name))}
    alike = [tuple(name for name in cut if cut[name] == kinds) for kinds in cut.values()]
    return [*dict.fromkeys([*((name,) for name in cut), *(together for together in alike if len(together) > 1)])]


def _list_kinds(layout: MeshLayout, name: str) -> list[tuple[int, str]]:
    return [(axis, repr(replace(cut, axis=0))) for axis, cut in find_cuts(layout.of_argument(name))]  # type: ignore[type-var]


def _list_readings(layout: MeshLayout, placed: tuple[Placed, ...]) -> list[Reading]:
    """Return what code may take the parts of an array to be that is placed so."""
    mesh, like = layout.mesh, _list_heads(layout)
    cuts, own = find_cuts(placed), tuple(range(mesh.count))
    found = []
    for axis, cut in cuts:
        for words, other in cut.list_others(like).items():
            changed = tuple(other if at == axis else x for at, x in enumerate(placed))
            found.append(Reading(mesh.say_of(axis, words), changed, own))
        for words, move in (MOVES if mesh.sizes[axis] > 2 else OF_TWO).items():
            found.append(Reading(mesh.say_of(axis, words), placed, tuple(mesh.along(axis, own, move))))
    if len(mesh.sizes) == 2 and mesh.sizes[0] == mesh.sizes[1] and cuts:
        exchanged = np.arange(mesh.count).reshape(mesh.sizes).T.reshape(-1)
        words = f"those of the rank with {mesh.names[0]} and {mesh.names[1]} exchanged"
        found.append(Reading(words, placed, tuple(map(int, exchanged))))
    return [reading for reading in found if reading.placed != placed or reading.ranks != own]


MOVES: Mapping[str, Callable[[Values], Values]] = MappingProxyType(
    {
        "those of the ranks in reverse order": lambda ranks: ranks[::-1],
        "those of the next rank": lambda ranks: [*ranks[1:], *ranks[:1]],
        "those of the rank before": lambda ranks: [*ranks[-1:], *ranks[:-1]],
    }
)

OF_TWO: Mapping[str, Callable[[Values], Values]] = MappingProxyType({"those of the other rank": lambda ranks: ranks[::-1]})


def _list_heads(layout: MeshLayout) -> list[Any]:
    """Return how arrays of the operation are cut along any axis."""
    every = [layout.of_argument(name) for name in layout.forward.positional] + [
        layout.of_result(x) for x in layout.list_results()
    ]
    return [cut for placed in every for _, cut in find_cuts(placed)]


def _cuts_of(placed: tuple[Placed, ...], named: Named) -> tuple[Placed, ...]:
    return settle([None if cut == SUMMANDS else cut for cut in placed], named)


def _misread_arguments(spec: Specification, named: Named, layout: MeshLayout, readings: Mapping[str, Reading]) -> Any:
    changed = dict[str, Any]()
    for name, reading in readings.items():
        if named.get(name) is not None:
            pieces = layout.mesh.divide(_cuts_of(layout.of_argument(name), named), named[name])
            taken = [pieces[rank] for rank in reading.ranks]
            changed[name] = layout.mesh.unite(_cuts_of(reading.placed, named), taken, is_gathered=True)[RANK.get()]
    return call_right(spec, {**named, **changed})


def _misread_result(spec: Specification, named: Named, layout: MeshLayout, path: str, reading: Reading) -> Any:
    def change(found: str, y: Any) -> Any:
        if found.partition("[")[0] != path:
            return y
        pieces = layout.mesh.divide(_cuts_of(reading.placed, named), y)
        answered = [pieces[rank] for rank in reading.ranks]
        return layout.mesh.unite(_cuts_of(layout.of_output(path), named), answered)[RANK.get()]

    return map_parts(change, spec, call_right(spec, named))


# --- arguments of which each rank has a summand -----------------------------------------------------------------------------


def _list_sums(layout: MeshLayout, name: str) -> Iterator[Alternative]:
    """Yield what comes of the summands of an argument that are not all summed, or more than once."""
    for axis in layout.axes:
        if layout.of_argument(name)[axis] == SUMMANDS:
            for pattern in SUMS_OF_SUMMANDS:
                manner, cost = SUMS[pattern]
                said = layout.mesh.say(axis, pattern.format(what=name))
                compute = bound(_sum_otherwise, layout, name, axis, manner)
                yield Alternative(layout.spec.name, said, compute, cost, evaluations=layout.mesh.count)


def _sum_otherwise(spec: Specification, named: Named, layout: MeshLayout, name: str, axis: int, manner: Manner) -> Any:
    """Return the answers of ranks each of which has another sum of the summands of an argument."""
    mesh, x = layout.mesh, named[name]
    placed = [None if at == axis else cut for at, cut in enumerate(_cuts_of(layout.of_argument(name), named))]
    pieces = mesh.divide(placed, x)
    summands = layout.stated.split_numbers(number(pieces[0]), layout.dtype, mesh.sizes[axis])
    if any(cut is not None for cut in placed):
        raise NotImplementedError("summands of parts")
    of_type = [x.constant(part) if hasattr(x, "constant") else part for part in summands]
    results = [call_right(spec, {**named, name: manner(of_type, at[axis])}) for at in mesh.coordinates]

    def answer(path: str, *ys: Any) -> Any:
        to = settle(layout.of_output(path), named)
        own = [mesh.divide(_cuts_of(layout.of_output(path), named), y)[rank] for rank, y in enumerate(ys)]
        for at, cut in enumerate(to):
            own = mesh.along(at, own, lambda of: [of[0], *(y * 0.0 for y in of[1:])]) if cut == SUMMANDS else own
        return mesh.unite(to, own)[RANK.get()]

    return map_parts(answer, spec, *results)
