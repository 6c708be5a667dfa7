"""Sets of entries of a matrix, by the indices of a result and of an argument: along one axis, two axes, or a diagonal."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .axes import plural
from .binding import bound
from .indices import BLOCKS, IndexSet, Sizes, list_places, list_sets

MAX_OUTER = 12  # sets along a first axis, within each of which sets along a second one are tried


@dataclass(frozen=True)
class EntrySet:
    """Some of the entries of a matrix. An axis is counted from the end of the axes of the result, or of those of the argument."""

    subject: str  # what the set holds, such as "the last key"
    holds: Callable[[tuple[int, ...], tuple[int, ...], Sizes], np.ndarray]  # of the shapes of the result and of the argument
    cost: float
    is_one: bool = False
    rows: str = ""  # in which rows, such as "in the first query"


def list_entry_sets(
    inside: np.ndarray, outside: np.ndarray, rank: int, rows: Sequence[str], columns: Sequence[str], sizes: Sizes
) -> Iterator[EntrySet]:
    """Yield the sets that hold all entries of `inside` and none of `outside`.

    rank: of the result; its axes come first. rows, columns: what an entry along each axis is called.
    """
    for axis in range(rank, inside.ndim):
        for found in list_sets(*_project(inside, outside, axis), sizes):
            yield _along_column(found, axis - inside.ndim, columns)
    if inside.ndim - rank > 1:
        held, free = (np.asarray(x.any(axis=tuple(range(rank)))).reshape(-1, x.shape[-1]).any(axis=1) for x in (inside, outside))
        for found in list_sets(np.asarray(held), np.asarray(free), sizes):
            yield _along_rows(found)
    for axis in range(rank):
        for outer in itertools.islice(_list_holding(inside, axis, sizes), MAX_OUTER):
            beyond = outside & _spread(outer, inside.shape, axis, sizes)
            for other in range(rank, inside.ndim):
                for found in list_sets(*_project(inside, beyond, other), sizes):
                    yield _in_rows(outer, axis - rank, rows, _along_column(found, other - inside.ndim, columns))
    for row, column in itertools.product(range(rank), range(rank, inside.ndim)):
        if inside.shape[row] > 1 and inside.shape[column] > 1:
            yield from _list_diagonals(inside, outside, row, column, rank, rows, columns, sizes)


def _project(inside: np.ndarray, outside: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    others = tuple(a for a in range(inside.ndim) if a != axis)
    return np.asarray(inside.any(axis=others)), np.asarray(outside.any(axis=others))


def _list_holding(inside: np.ndarray, axis: int, sizes: Sizes) -> Iterator[IndexSet]:
    """Yield the sets of indices of an axis that hold all entries, but not all indices."""
    held, _ = _project(inside, inside, axis)
    if not held.all():
        yield from list_sets(held, np.zeros_like(held), sizes)


def _spread(found: IndexSet, shape: tuple[int, ...], axis: int, sizes: Sizes) -> np.ndarray:
    length = shape[axis]
    held = np.broadcast_to(found.holds(np.arange(length), length, sizes), (length,))
    return held.reshape(*(length if a == axis else 1 for a in range(len(shape))))


def _along_column(found: IndexSet, axis: int, columns: Sequence[str]) -> EntrySet:
    one = columns[axis]

    def holds(result: tuple[int, ...], argument: tuple[int, ...], sizes: Sizes) -> np.ndarray:
        shape = (*(1 for _ in result), *argument)
        return _spread(found, shape, len(shape) + axis, sizes)

    return EntrySet(found.say(one, plural(one)), holds, found.cost, found.is_one or found.words.startswith("every"))


def _along_rows(found: IndexSet) -> EntrySet:
    """Return the set along the rows of an argument: over all of its axes but the last."""

    def holds(result: tuple[int, ...], argument: tuple[int, ...], sizes: Sizes) -> np.ndarray:
        count = int(np.prod(argument[:-1]))
        held = np.broadcast_to(found.holds(np.arange(count), count, sizes), (count,))
        return held.reshape(*(1 for _ in result), *argument[:-1], 1)

    return EntrySet(found.say("row", "rows"), holds, 0.25 + found.cost, found.is_one or found.words.startswith("every"))


def _in_rows(outer: IndexSet, axis: int, rows: Sequence[str], inner: EntrySet) -> EntrySet:
    one = rows[axis]

    def holds(result: tuple[int, ...], argument: tuple[int, ...], sizes: Sizes) -> np.ndarray:
        shape = (*result, *(1 for _ in argument))
        return inner.holds(result, argument, sizes) & _spread(outer, shape, len(result) + axis, sizes)

    said = f"in {outer.say(one, plural(one))}"
    return EntrySet(inner.subject, holds, 1 + inner.cost + outer.cost, inner.is_one, said)


def _list_diagonals(
    inside: np.ndarray, outside: np.ndarray, row: int, column: int, rank: int, rows: Sequence[str], columns: Sequence[str],
    sizes: Sizes,
) -> Iterator[EntrySet]:  # fmt: skip
    """Yield the sets that compare the index of a row with that of a column."""
    grids: tuple[np.ndarray, ...] = np.indices(inside.shape, sparse=True)
    i, j = grids[row], grids[column]
    away = np.broadcast_to(j - i, inside.shape)[inside]
    one, other = rows[row], columns[column - inside.ndim]
    axes = row - rank, column - inside.ndim
    tests: list[tuple[str, Callable[..., np.ndarray], float]] = []
    ends: tuple[tuple[int, str, Callable[..., np.ndarray]], ...] = (
        (int(away.min()), "≥", np.greater_equal), (int(away.max()), "≤", np.less_equal), (int(away.min()), "=", np.equal),
    )  # fmt: skip
    for least, sign, reach in ends:
        for place in list_places(least, sizes):
            words = f"{plural(other)} j of {one} i with j − i {sign} {place.words}"
            tests.append((words, bound(lambda i, j, s, p, t: t(j - i, p.at(s)), place, reach), 0.5 + place.cost))
    for block in BLOCKS:
        ways: tuple[tuple[str, Callable[..., np.ndarray]], ...] = (
            ("another", np.not_equal), ("a later", np.greater), ("an earlier", np.less), ("the same", np.equal),
        )  # fmt: skip
        for text, test in ways:
            words = f"{plural(other)} in {text} block of {block} than the {one}"
            tests.append((words, bound(lambda i, j, s, b, t: t(j // b, i // b), block, test), 1.0))
    for words, compare, cost in tests:
        held = np.broadcast_to(compare(i, j, sizes), inside.shape)
        if held[inside].all() and not held[outside].any():
            yield EntrySet(words, _compared(axes, compare), 0.5 + cost)


def _compared(axes: tuple[int, int], compare: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    row, column = axes

    def holds(result: tuple[int, ...], argument: tuple[int, ...], sizes: Sizes) -> np.ndarray:
        shape = (*result, *argument)
        grids = np.indices(shape, sparse=True)
        return np.asarray(compare(grids[len(result) + row], grids[len(shape) + column], sizes))

    return holds
