"""Find the constant of a changed equation from one wrong answer: the number for which the equation gives that answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
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
INVERSES: MappingProxyType[str, Callable[[float], float]] = MappingProxyType({  # a number may be a function of a simple one
    "math.log({})": math.exp, "-math.log({})": lambda x: math.exp(-x), "math.sqrt({})": lambda x: x * x if x > 0 else math.nan,
})  # fmt: skip
MAX_DIGITS_INSIDE = 2  # of the simple number: with more, some logarithm lies in every interval
MAX_WIDTH_INSIDE = 1e-5  # of the interval, relative to the simple number, for the same reason
MAX_WIDTH = 0.05  # of the interval of a constant, relative to it: a wider one leaves the constant open
MAX_ZERO = 1e-6  # the largest end of an interval around 0 in which the constant is 0

Evaluate = Callable[[float], "np.ndarray | None"]


def solve(evaluate: Evaluate, answer: np.ndarray, gap: np.ndarray, wrong: np.ndarray) -> Iterator[tuple[str, float]]:
    """Yield constants for which the equation gives the answer at the wrong elements, as text and as number; the simplest first.

    evaluate: the equation's values for a constant, None if it has none. gap: how far an answer may be from a value.
    """
    places = np.flatnonzero(wrong & np.isfinite(answer))
    if not places.size:
        return
    target, allowed = answer.ravel()[places], gap.ravel()[places]
    rows = [_signs(evaluate, c, target, places) for c in GRID]
    for i, (low, high, a, b) in enumerate(zip(GRID, GRID[1:], rows, rows[1:], strict=False)):
        if a is None or b is None:
            continue
        changed = (a * b < 0) | (b == 0) | (a == 0)
        if 2 * np.sum(changed) < len(places) or not np.any(changed & (a != b)):
            continue
        one = int(np.argmax(changed & (a != b)))
        ends = []
        for shift in (-allowed[one], allowed[one]):
            at = partial(_distance, evaluate, places[one : one + 1], target[one] + shift)
            end = _bisect(at, low, high)
            ends.append(_bisect(at, GRID[max(i - 1, 0)], GRID[min(i + 2, len(GRID) - 1)]) if end is None else end)
        first, last = ends
        if first is not None and last is not None and _is_narrow(min(first, last), max(first, last)):
            yield from _simplest(min(first, last), max(first, last))


def _signs(evaluate: Evaluate, c: float, target: np.ndarray, places: np.ndarray) -> np.ndarray | None:
    values = evaluate(c)
    if values is None:
        return None
    with np.errstate(all="ignore"):
        return np.asarray(np.sign(values.ravel()[places] - target))


def _distance(evaluate: Evaluate, place: np.ndarray, target: float, constant: float) -> float:
    """Return how far the equation with a constant is above the target at one element, NaN if it has no values."""
    values = evaluate(constant)
    return math.nan if values is None else float(values.ravel()[place][0]) - target


def _bisect(at: Callable[[float], float], low: float, high: float) -> float | None:
    """Return the constant between two others for which the distance is 0, None if it has one sign at both or no value."""
    below, above = at(low), at(high)
    if math.isnan(below) or math.isnan(above) or below * above > 0:
        return None
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


def _is_narrow(first: float, last: float) -> bool:
    """Whether an interval determines a constant: hardly any other number lies in it, or it is 0 but for rounding."""
    largest = max(abs(first), abs(last))
    return last - first <= MAX_WIDTH * largest or (first <= 0 <= last and largest < MAX_ZERO)


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
    for text, inverse in INVERSES.items():
        yield from _find_inside(text, inverse, first, last)
    for text, number in KNOWN_NUMBERS.items():
        for sign, prefix in ((1, ""), (-1, "-")):
            if first <= sign * number <= last:
                yield f"{prefix}{text}" if "/" not in text else f"{prefix}({text})", sign * number


def _find_inside(text: str, inverse: Callable[[float], float], first: float, last: float) -> Iterator[tuple[str, float]]:
    """Yield a number between two ends that is a function of a number with few digits, such as log(1e-07)."""
    try:
        ends = sorted((inverse(first), inverse(last)))
    except OverflowError:
        return
    middle = (ends[0] + ends[1]) / 2
    if not (0 < middle < math.inf and ends[1] - ends[0] <= MAX_WIDTH_INSIDE * middle):
        return
    number = float(f"{middle:.{MAX_DIGITS_INSIDE - 1}e}")
    if ends[0] <= number <= ends[1] and number != 1:
        yield text.format(repr(number)), (first + last) / 2
