"""Which conditions on one fact all wrong answers meet, or all wrong elements, and not every right one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .condition import Condition
from .facts.fact import Fact
from .facts.of_elements import ElementFact
from .values import is_integer, is_number

STEPS = (2, 3, 4, 5, 8, 16, 32, 64, 128, 256)

CYCLES = (2, 3, 4)  # lengths of cycles in which calls, rows or columns may take turns

MIN_IN_CYCLE = 2  # right calls whose number is a multiple of the length: one may be right by chance

MIN_POWERS = 3  # powers of two with right answers; each of fewer may be right for another reason

MISSING = "no such fact"  # of an answer that lacks a fact, such as the size of a dimension that it does not have

MAX_LISTED = 4  # values in a condition


def list_conditions(fact: Fact, inside: Sequence[Any], outside: Sequence[Any]) -> Iterator[Condition]:
    """Yield conditions on a fact of the call that separate some right answers from the wrong ones.

    inside, outside: the values of the fact in wrong and in right answers.
    """
    if not inside or not outside or MISSING in inside:
        return
    if all(is_number(value) for value in inside):
        numbers = [value for value in outside if is_number(value) and math.isfinite(value)]
        low, high = min(inside), max(inside)
        if low == high and is_integer(low) and not {low - 1, low + 1} & set(numbers) and not fact.is_counted:
            yield Condition(fact, "is", (low,))  # no neighbour is known to be right, so that a limit would be a guess
        if below := [value for value in numbers if value < low]:
            yield Condition(fact, "above", (max(below),))
        if (above := [value for value in numbers if value > high]) and (not fact.is_of_history or high == 0):
            yield Condition(fact, "below", (min(above),))
        if all(is_integer(value) for value in inside):
            yield from _list_steps(fact, np.array(inside), np.array([v for v in numbers if is_integer(v)], dtype=int))
    if fact.is_counted:
        return  # what is measured or counted has no values of its own
    distinct_inside, distinct_outside = _distinct(inside), _distinct(outside)
    if len(distinct_inside) <= MAX_LISTED:
        yield Condition(fact, "is", tuple(distinct_inside))
    never = [value for value in distinct_outside if value is not MISSING and repr(value) not in set(map(repr, distinct_inside))]
    if never and len(never) <= MAX_LISTED and not isinstance(never[0], bool) and len(distinct_inside) > 1:
        yield Condition(fact, "is not", tuple(never))


def _distinct(values: Sequence[Any]) -> list[Any]:
    return sorted(
        {repr(value): value for value in values}.values(),
        key=lambda value: (str(type(value)), value if is_number(value) else str(value)),
    )


def _list_steps(fact: Fact, inside: np.ndarray, outside: np.ndarray) -> Iterator[Condition]:
    """Yield conditions on divisibility."""
    positive = outside[outside > 0]  # 0 is a multiple of every step, and speaks for none
    for step in CYCLES if fact.is_counted else STEPS:
        if np.all(inside % step != 0) and _count_multiples(positive, step) >= (MIN_IN_CYCLE if fact.is_counted else 1):
            yield Condition(fact, "no multiple", (step,))
        if np.all((inside % step == 0) & (inside > 0)) and np.any(outside % step != 0) and len(set(inside.tolist())) > 1:
            yield Condition(fact, "multiple", (step,))
        if step in CYCLES and len(set((inside % step).tolist())) == 1 and inside[0] % step and step > 2:
            yield Condition(fact, "remainder", (step, int(inside[0] % step)))
    powers = Condition(fact, "power of two", ())
    if np.all(powers.holds_each(inside)) and len(set(inside.tolist())) > 1:
        yield powers
    others = Condition(fact, "no power of two", ())
    if np.all(others.holds_each(inside)) and len(set(outside[powers.holds_each(outside)].tolist())) >= MIN_POWERS:
        yield others


def _count_multiples(values: np.ndarray, step: int) -> int:
    """Return how many distinct values are multiples of the step."""
    return len(np.unique(values[values % step == 0]))


def drop_underflowing(values: np.ndarray) -> np.ndarray:
    """Return the values that are no NaN and do not underflow: those that do may be right by chance."""
    return np.asarray(values[~np.isnan(values) & ((values == 0) | (np.abs(values) >= np.finfo(np.float64).tiny))])


def list_element_conditions(fact: ElementFact, values: np.ndarray, wrong: np.ndarray) -> Iterator[Condition]:
    """Yield conditions on a fact of elements that separate some right elements from the wrong ones."""
    inside, outside = values[wrong], values[~wrong]
    if not inside.size or not outside.size:
        return
    if values.dtype.kind == "U":
        distinct = np.unique(inside)
        if len(distinct) <= MAX_LISTED:
            yield Condition(fact, "is", tuple(map(str, distinct)))
        return
    if fact.is_flag:
        if len(flags := np.unique(inside)) == 1:
            yield Condition(fact, "is", (bool(flags[0]),))
        return
    if np.any(np.isnan(inside)):
        return
    integral = values.dtype.kind in "iu" or fact.is_index
    low, high = inside.min() + 0, inside.max() + 0  # no -0
    cast = int if integral else float
    outside = drop_underflowing(outside) if outside.dtype.kind == "f" else outside
    if (below := outside[(outside < low) & np.isfinite(outside)]).size:
        yield Condition(fact, "above", (cast(low) - 1 if integral else cast(below.max()),))
        if not integral and low > 0 > outside.min():
            yield Condition(fact, "above", (0.0,))
    if (above := outside[(outside > high) & np.isfinite(outside)]).size:
        yield Condition(fact, "below", (cast(high) + 1 if integral else cast(above.min()),))
        if not integral and high < 0 < outside.max():
            yield Condition(fact, "below", (0.0,))
    if low == high and (integral or np.isinf(low) or low == np.rint(low)):  # any other number would be a coincidence
        yield Condition(fact, "is", (cast(low),))
    if integral:
        yield from _list_cycles(fact, inside)


def _list_cycles(fact: ElementFact, inside: np.ndarray) -> Iterator[Condition]:
    """Yield conditions on the remainder of an integer that all wrong elements share."""
    for step in CYCLES:
        if len(remainders := np.unique(inside % step)) == 1:
            yield Condition(fact, "remainder", (step, int(remainders[0])))
            if not remainders[0] and inside.min() > 0 and fact.is_count:
                yield Condition(fact, "multiple", (step,))  # without 0
