"""What the coefficients of a matrix say that code applies: which entries of an argument count how often, and in which rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any

import numpy as np

from ...calls.call import Call
from ...calls.in_domain import sizes_of
from ...specification.registry import Specification
from ..result_parts import map_parts, say_part
from .alternative import Alternative, Named, call_right
from .axes import name_axes
from .entries import EntrySet, list_entry_sets
from .numbers import Number, collect_values, list_numbers
from .reading import Matrix

MAX_TIMES = 64  # that an entry counts
MAX_PATTERNS = 64  # of rows that count other entries
NEGLIGIBLE = 1e-9  # of the largest coefficient
TIMES = MappingProxyType({0: "is left out", 2: "counts twice", -1: "counts with the opposite sign"})
SEVERAL = MappingProxyType({0: "are left out", 2: "count twice", -1: "count with the opposite sign"})


def list_coefficients(matrix: Matrix, call: Call) -> Iterator[Alternative]:
    """Yield the ways to count the entries of an argument that give the coefficients of a matrix."""
    used, right = matrix.used, matrix.right
    largest = np.abs(right).max(initial=0.0)
    support, gap = np.abs(right) > NEGLIGIBLE * largest, 4 * float(np.sqrt(matrix.unit_roundoff))
    if not support.any() or (np.abs(used)[~support] > gap * largest).any():
        return
    with np.errstate(all="ignore"):
        ratio = np.where(support, used / np.where(support, right, 1.0), 1.0)
    yield from _list_times(matrix, call, ratio, support, gap, is_divided=False)
    inner = tuple(range(matrix.rank, used.ndim))
    sums = np.abs(used.sum(axis=inner) - right.sum(axis=inner)) <= gap * np.abs(right.sum(axis=inner)).max(initial=0.0)
    if inner and sums.all():
        least = np.where(support & (np.abs(ratio) > gap), np.abs(ratio), np.inf).min(axis=inner, keepdims=True)
        yield from _list_times(matrix, call, np.where(support, ratio / least, 1.0), support, gap, is_divided=True)


def _list_times(
    matrix: Matrix, call: Call, ratio: np.ndarray, support: np.ndarray, gap: float, *, is_divided: bool
) -> Iterator[Alternative]:
    wrong = support & (np.abs(ratio - 1) > 2 * gap)
    if not wrong.any() or np.array_equal(wrong, support):  # what all entries do, a change of the result says
        return
    values = ratio[wrong]
    if np.ptp(values) > 2 * gap * np.abs(values).max(initial=1.0):
        return
    spec, name = call.operation.spec, call.operation.name
    sizes = sizes_of(spec, call.named)
    rows = name_axes(spec, matrix.part, matrix.rank)
    columns = name_axes(spec, matrix.argument, matrix.used.ndim - matrix.rank)
    for number, singular, several in _list_factors(float(np.median(values)), spec, call, gap):
        for entries in list_entry_sets(wrong, support & ~wrong, matrix.rank, rows, columns, sizes):
            said = _say(spec, matrix, entries, singular if entries.is_one else several, is_divided=is_divided)
            compute = _counted(matrix.argument, matrix.part, entries, number, is_divided=is_divided)
            place = f"in {say_part(spec, matrix.part)}, " if matrix.part or spec.is_gradient else ""
            cost = 0.5 + entries.cost + number.cost
            yield Alternative(name, f"{place}{said}", compute, cost, only_in=matrix.part, of_part=said)


def _say(spec: Specification, matrix: Matrix, entries: EntrySet, verb: str, *, is_divided: bool) -> str:
    """Return what is said of a result, such as "the last key of v is left out, in the first query"."""
    of = "" if spec.is_gradient else f" of {matrix.argument}"
    divided = "and each row is divided by the sum of what counts" if is_divided else ""
    return ", ".join(filter(None, [f"{entries.subject}{of} {verb}", entries.rows, divided]))


def _list_factors(value: float, spec: Specification, call: Call, gap: float) -> Iterator[tuple[Number, str, str]]:
    """Yield the numbers that a coefficient is, each with the words for one entry and for several."""
    nearest = round(value)
    if abs(value - nearest) <= gap * max(abs(value), 1.0) and nearest != 1 and abs(nearest) <= MAX_TIMES:
        singular, several = TIMES.get(nearest, f"counts {nearest} times"), SEVERAL.get(nearest, f"count {nearest} times")
        yield Number(str(nearest), lambda v: float(nearest)), singular, several
    for number in list_numbers(value, collect_values(spec, call.named, sizes_of(spec, call.named)), 2 * gap):
        yield number, f"is multiplied by {number.words}", f"are multiplied by {number.words}"


def _counted(
    argument: str, part: str, entries: EntrySet, number: Number, *, is_divided: bool
) -> Callable[[Specification, Named], Any]:
    def compute(spec: Specification, named: Named) -> Any:
        right, given = call_right(spec, named), named.get(argument)
        if given is None:
            return right
        sizes = sizes_of(spec, named)
        factor = number.at(collect_values(spec, named, sizes))

        def count(name: str, y: Any) -> Any:
            if name != part:
                return y
            held = entries.holds(tuple(y.shape), tuple(given.shape), sizes)
            return _count_entries(spec, named, argument, part, y, held, factor, is_divided=is_divided)

        return map_parts(count, spec, right)

    return compute


def _count_entries(
    spec: Specification, named: Named, argument: str, part: str, y: Any, held: np.ndarray, factor: float, *, is_divided: bool
) -> Any:
    """Return a result whose rows count the held entries of an argument with a factor. Rows that count alike are one call."""
    x, rank = named[argument], len(y.shape)
    patterns = held.reshape(int(np.prod(held.shape[:rank])), *held.shape[rank:])
    distinct, which = np.unique(patterns.reshape(len(patterns), -1), axis=0, return_inverse=True)
    if len(distinct) > MAX_PATTERNS:
        raise ValueError("too many rows count other entries")
    found = y
    for number, pattern in enumerate(distinct):
        if not pattern.any():
            continue
        times = np.broadcast_to(np.where(pattern.reshape(patterns.shape[1:]), factor, 1.0), x.shape)
        other = result_for(spec, {**named, argument: x * times}, part)
        if is_divided:
            ones = np.ones(x.shape)
            other = other / result_for(spec, {**named, argument: x * 0.0 + times}, part)
            other = other * result_for(spec, {**named, argument: x * 0.0 + ones}, part)
        here = (np.ravel(which) == number).reshape(held.shape[:rank])
        found = np.where(np.broadcast_to(here, y.shape), other, found)
    return found


def result_for(spec: Specification, named: Named, part: str) -> Any:
    """Return one of the right results for arguments by name."""
    found: list[Any] = []
    map_parts(lambda name, y: found.append(y) if name == part else y, spec, call_right(spec, named))
    return found[0]
