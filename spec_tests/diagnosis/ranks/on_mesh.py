"""What ranks compute by mistake along an axis of a mesh: sums, terms, and the orders of parts, whatever the operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

from ...calls.call import Call
from ...calls.ranks import SUMMANDS
from ...specification.registry import Specification
from ..evidence import wrong_in
from ..operator.alternative import Alternative, Named
from ..operator.binding import bound
from ..result_parts import split_parts
from .along_axis import list_along_axes
from .mesh_layout import MeshLayout
from .orders import list_other_orders
from .shares import SUM, Mistake, Shares, find_shares
from .steps import MULTIPLES, NARROW, OF_SUMMANDS, SUMS

MAX_SHAPES = 12  # in which a way that ranks may compute is tried
COST_OF_AXIS = 0.02  # of each axis of the mesh before that of a mistake, so that one of two is said first


def list_on_mesh(layout: MeshLayout, calls: Sequence[Call], wrong: Sequence[Call]) -> Iterator[Alternative]:
    """Yield the mistakes that ranks in this layout may make. calls: those that have to be computed rightly without one."""
    yield from list_other_orders(layout, calls, wrong)
    shares = find_shares(layout, [*calls, *_choose_shapes(wrong)])
    if shares is None or not any(shares.summed):  # where all is gathered, anything is right
        yield from list_along_axes(layout, calls)
    if shares is None:
        return
    is_narrow = calls[0].operation.storage.precision < 24  # where everything may be rounded to 16 bits
    for parts in _list_sets(shares, wrong):
        yield from _list_multiples(shares, parts)
    for axis in layout.axes:
        for parts in _list_sets(shares, wrong):
            yield from _list_steps(shares, axis, parts, is_narrow=is_narrow)
            yield from _list_other_axes(shares, axis, parts)
        for name in shares.terms if not layout.spec.is_gradient else ():
            yield from _list_terms(shares, axis, name)


def _choose_shapes(calls: Sequence[Call]) -> list[Call]:
    """Return calls of different shapes: in those with one token or feature, more ways in which ranks compute give the same."""
    by_shapes = {tuple(getattr(x, "shape", ()) for x in call.named.values()): call for call in calls}
    found = [*by_shapes.values()]
    return found[:: max(1, -(-len(found) // MAX_SHAPES))]


def _list_sets(shares: Shares, wrong: Sequence[Call]) -> list[frozenset[str]]:
    """Return the results, or the gradients, that may be wrong together: those that are in some call."""
    found = {path.partition("[")[0] for call in wrong for path, x in split_parts(call, wrong_in(call)).items() if x.any()}
    every = frozenset(shares.layout.list_results())
    return [frozenset(found)] if shares.layout.spec.is_gradient or found < every else [every]


def _make(shares: Shares, said: str, mistake: Mistake, cost: float) -> Alternative:
    mesh, spec = shares.layout.mesh, shares.layout.spec
    price = cost + COST_OF_AXIS * (len(mesh.sizes) - mistake.axis)
    return Alternative(spec.name, said, bound(_evaluate, shares, mistake), price, evaluations=mesh.count)


def _evaluate(spec: Specification, named: Named, shares: Shares, mistake: Mistake) -> Any:
    return shares.evaluate(spec, named, mistake)


# --- sums -------------------------------------------------------------------------------------------------------------------


def _list_steps(shares: Shares, axis: int, parts: frozenset[str], *, is_narrow: bool) -> Iterator[Alternative]:
    """Yield the wrong sums along an axis. Each has to be a sum in all of these results, or gradients."""
    placed = {shares.layout.of_output(part)[axis] == SUMMANDS for part in parts}
    if {shares.way(part, axis) for part in parts} != {SUM} or len(placed) > 1 or shares.layout.mesh.sizes[axis] == 1:
        return
    what, are_several = _say(shares.layout, parts)
    for pattern, (manner, cost) in (OF_SUMMANDS if True in placed else SUMS).items():
        if pattern not in MULTIPLES and not (is_narrow and pattern in NARROW):
            said = pattern.format(what=what)
            said = _make_plural(said, what) if are_several else said
            yield _make(shares, shares.layout.mesh.say(axis, said), Mistake(axis, manner, parts), cost)


def _list_multiples(shares: Shares, parts: frozenset[str]) -> Iterator[Alternative]:
    """Yield results that are multiplied or divided by a number of ranks, which may be that along more than one axis."""
    mesh, (what, are_several) = shares.layout.mesh, _say(shares.layout, parts)
    terms = () if shares.layout.spec.is_gradient else shares.terms
    subjects = {what: bool(terms), **({f"the sum to which {_join(terms)} is added": False} if terms else {})}
    for size in sorted({*mesh.sizes, mesh.count} - {1}):
        axes = [name for name, own in zip(mesh.names, mesh.sizes, strict=True) if own == size and name]
        number = " or ".join(f"the number of ranks along {name}" for name in axes) or (
            "the number of all ranks" if all(mesh.names) else "the number of ranks"
        )
        for (said, with_terms), (word, factor) in product(
            subjects.items(), (("multiplied", float(size)), ("divided", 1.0 / size))
        ):
            mistake = Mistake(0, parts=parts, factor=factor, multiplies_terms=with_terms)
            sentence, compute = f"{said} {'are' if are_several else 'is'} {word} by {number}", bound(_evaluate, shares, mistake)
            yield Alternative(shares.layout.spec.name, sentence, compute, 0.1, evaluations=mesh.count)


def _say(layout: MeshLayout, parts: frozenset[str]) -> tuple[str, bool]:
    if layout.spec.is_gradient:
        names = [name for name in layout.forward.positional if name in parts]
        return f"the gradient{'s' * (len(names) > 1)} of {_join(names)}", len(names) > 1
    if parts == frozenset(layout.list_results()):
        return "the result", False
    names = [name for name in layout.forward.results if name in parts]
    return f"the returned {_join(names)}", len(names) > 1


def _join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _make_plural(said: str, what: str) -> str:
    return said.replace(f"{what} is", f"{what} are").replace("it is not", "they are not")


def _list_other_axes(shares: Shares, axis: int, parts: frozenset[str]) -> Iterator[Alternative]:
    """Yield sums along another axis of the mesh than that where the shares are, or along that one too."""
    layout, (what, are_several) = shares.layout, _say(shares.layout, parts)
    if {shares.way(part, axis) for part in parts} != {SUM}:
        return
    are_whole, verb = all(layout.of_output(part)[axis] is None for part in parts), "are" if are_several else "is"
    own = layout.mesh.names[axis]
    for other, name in enumerate(layout.mesh.names):
        if other != axis and layout.mesh.sizes[other] > 1:
            yield _make(shares, f"{what} {verb} summed along {name}, too", Mistake(axis, parts=parts, other=other), 0.3)
            if are_whole:
                said = f"{what} {verb} summed along {name}, not along {own}"
                yield _make(shares, said, Mistake(axis, parts=parts, other=other, is_instead=True), 0.3)


# --- terms that are added once ------------------------------------------------------------------------------------------------


def _list_terms(shares: Shares, axis: int, name: str) -> Iterator[Alternative]:
    """Yield the wrong ways to add a term to a sum along an axis of the mesh."""
    if not shares.is_added_along(name, axis) or shares.layout.mesh.sizes[axis] == 1:
        return
    mesh, are_summands = shares.layout.mesh, shares.layout.of_output("")[axis] == SUMMANDS
    right, count = shares.weigh(name, shares.layout.of_output("")), mesh.sizes[axis]
    without = shares.weigh(name, [None if at == axis else x for at, x in enumerate(shares.layout.of_output(""))])
    weights: list[tuple[str, Callable[[tuple[int, ...]], float], float]] = [
        (mesh.say(axis, f"{name} is added once for each rank"), without if are_summands else lambda at: right(at) * count, 0.0),
        (f"no rank adds {name}", lambda at: 0.0, 0.05),
        (f"{name} is divided by {count}, as by a number of ranks", lambda at: right(at) / count, 0.2),
        ("rank 0 of all alone adds " + name, lambda at: float(not any(at)), 0.15),
    ]
    if not are_summands:
        weights.append(
            (mesh.say(axis, f"the first rank alone adds {name} to its result"), lambda at: right(at) * (at[axis] == 0), 0.1)
        )
    for other in range(len(mesh.sizes)):
        if are_summands and other != axis:
            said = f"{name} is added by the ranks that are the first along {mesh.names[other]}"
            weights.append((said, partial(_weigh_first, without, other), 0.15))
    for said, weight, cost in weights:
        yield _make(shares, said, Mistake(axis, term=name, weight=weight), cost)


def _weigh_first(weigh: Callable[[tuple[int, ...]], float], axis: int, coordinate: tuple[int, ...]) -> float:
    return weigh(coordinate) * (coordinate[axis] == 0)
