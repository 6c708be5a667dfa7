"""Find the constant of a changed equation from one wrong answer: the number for which the equation gives that answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import MappingProxyType

import numpy as np

POSITIVE = tuple(10.0**k for k in np.arange(-13, 10.1, 0.5))
GRID = (*(-x for x in reversed(POSITIVE)), 0.0, *POSITIVE)
STEPS = 60  # bisections
KNOWN_NUMBERS = MappingProxyType({
    "math.log(2)": math.log(2), "1 / math.log(2)": 1 / math.log(2), "math.sqrt(2)": math.sqrt(2),
    "math.sqrt(1 / 2)": math.sqrt(0.5),
    "math.pi": math.pi, "math.sqrt(2 / math.pi)": math.sqrt(2 / math.pi), "math.sqrt(2) / math.pi": math.sqrt(2) / math.pi,
    "math.sqrt(math.pi)": math.sqrt(math.pi), "math.e": math.e, "1 / 3": 1 / 3, "1 / 6": 1 / 6, "2 / 3": 2 / 3,
})  # fmt: skip
MAX_DIGITS = 6
MAX_WIDTH = 0.05  # of the interval of a constant, relative to it: a wider one leaves the constant open

Evaluate = Callable[[float], "np.ndarray | None"]


def solve(evaluate: Evaluate, answer: np.ndarray, gap: np.ndarray, wrong: np.ndarray) -> Iterator[tuple[str, float]]:
    """Yield constants for which the equation gives the answer at the wrong elements, as text and as number; the simplest first.

    evaluate: the equation's values for a constant, None if it has none. gap: how far a right answer may be from a value.
    """
    places = np.flatnonzero(wrong & np.isfinite(answer))
    if not places.size:
        return
    target, allowed = answer.ravel()[places], gap.ravel()[places]
    rows = [_signs(evaluate, c, target, places) for c in GRID]
    for low, high, a, b in zip(GRID, GRID[1:], rows, rows[1:], strict=False):
        if a is None or b is None:
            continue
        changed = (a * b < 0) | (b == 0) | (a == 0)
        if 2 * np.sum(changed) < len(places) or not np.any(changed & (a != b)):
            continue
        one = int(np.argmax(changed & (a != b)))
        place = places[one : one + 1]
        first, last = (_bisect(evaluate, place, target[one] + shift, low, high) for shift in (-allowed[one], allowed[one]))
        if first is not None and last is not None and abs(last - first) <= MAX_WIDTH * max(abs(first), abs(last)):
            yield from _simplest(min(first, last), max(first, last))


def _signs(evaluate: Evaluate, c: float, target: np.ndarray, places: np.ndarray) -> np.ndarray | None:
    values = evaluate(c)
    if values is None:
        return None
    with np.errstate(all="ignore"):
        return np.asarray(np.sign(values.ravel()[places] - target))


def _bisect(evaluate: Evaluate, place: np.ndarray, target: float, low: float, high: float) -> float | None:
    """Return the constant between two others for which an element has its target, None if the equation has no values there."""

    def at(constant: float) -> float:
        values = evaluate(constant)
        return math.nan if values is None else float(values.ravel()[place][0]) - target

    below, above = at(low), at(high)
    if math.isnan(below) or math.isnan(above):
        return None
    if below * above > 0:
        return low if abs(below) < abs(above) else high
    for _ in range(STEPS):
        middle = (low + high) / 2 if low * high <= 0 else math.copysign(math.sqrt(low * high), low)
        if middle in (low, high):
            break
        value = at(middle)
        if math.isnan(value):
            return None
        if (value > 0) == (below > 0):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _simplest(first: float, last: float) -> Iterator[tuple[str, float]]:
    """Yield the simplest numbers between two ends: those of few digits, and those with a name."""
    margin = 4e-16 * max(abs(first), abs(last))
    first, last = first - margin, last + margin
    if first <= 0 <= last:
        yield "0.0", 0.0
    middle = (first + last) / 2
    for digits in range(1, MAX_DIGITS + 1):
        number = float(f"{middle:.{digits - 1}e}")
        if first <= number <= last:
            yield repr(number), number
            break
    for text, number in KNOWN_NUMBERS.items():
        for sign, prefix in ((1, ""), (-1, "-")):
            if first <= sign * number <= last:
                yield f"{prefix}{text}" if "/" not in text else f"{prefix}({text})", sign * number
