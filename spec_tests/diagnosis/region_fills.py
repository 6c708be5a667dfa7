"""Values for the arrays of a call that is asked for: strange ones, and ones near a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from .condition import Condition, is_number

Fill = Callable[..., Any]  # (random generator, (rows, columns), dtype) -> rows; as the regimes of inputs/regimes.py

LARGEST_OF_CALL = "the largest |"  # the beginning of the name of a fact of a call

MIXED_SHARE = 1 / 3  # of the arrays that shall have one sign, but have both

MAX_ORDINARY = 100.0  # the largest magnitude of values that hide no error

STATISTICS = MappingProxyType(
    {  # the beginning of a fact's name, and what it is of a row
        "the largest entry of a row of ": np.max,
        "the smallest entry of a row of ": np.min,
        "the largest magnitude in a row of ": None,
    }
)


def fill_with(value: float) -> Fill:
    """Return a function that draws normal rows, the first of which holds a value in the middle."""

    def fill(rng: np.random.Generator, shape: tuple[int, int], _: Any) -> Any:
        x = rng.standard_normal(shape)
        x[0, shape[1] // 2] = value
        return x

    return fill


def fill_equal_rows(rng: np.random.Generator, shape: tuple[int, int], _: Any) -> Any:
    """Fill with one row, repeated: such an array can be stored as a broadcast view."""
    return np.repeat(rng.standard_normal((1, shape[1])), shape[0], axis=0)


STRANGE_FILLS = (fill_with(np.nan), fill_with(np.inf))


def fill_up_to(largest: float, sign: int = 0) -> Fill:
    """Return a function that draws normal numbers whose largest magnitude is `largest`.

    They have this sign, or both signs if it is 0, and in some arrays in any case: what goes wrong may depend on their spread.
    """

    def fill(rng: np.random.Generator, shape: tuple[int, int], _: Any) -> Any:
        x = rng.standard_normal(shape)
        x = np.abs(x) * sign if sign and rng.random() > MIXED_SHARE else x
        return x * (largest / np.max(np.abs(x))) if x.size else x

    return fill


def fill_between(fact: str, first: str) -> Callable[[float, float], Fill] | None:
    """Return what makes a fill in which a fact of elements lies between two numbers; None if it is no value of `first`."""
    if fact == first:
        return lambda low, high: lambda rng, shape, _: rng.uniform(low, high, shape)
    statistic = next((start for start in STATISTICS if fact == f"{start}{first}"), None)
    if statistic is None:
        return None

    def make(low: float, high: float) -> Fill:
        def fill(rng: np.random.Generator, shape: tuple[int, int], _: Any) -> Any:
            wanted, x = rng.uniform(low, high, (shape[0], 1)), rng.standard_normal(shape)
            end: Any = STATISTICS[statistic]
            if end is None:
                return x * (wanted / np.max(np.abs(x), axis=-1, keepdims=True))
            return x - end(x, axis=-1, keepdims=True) + wanted

        return fill

    return make


def fill_often_with(value: float) -> Fill:
    """Return a function that draws normal numbers, about a third of which are replaced with a value."""

    def fill(rng: np.random.Generator, shape: tuple[int, int], _: Any) -> Any:
        return np.where(rng.random(shape) < 1 / 3, value, rng.standard_normal(shape))

    return fill


def fill_near(condition: Condition, first: str) -> Fill | None:
    """Return a function that draws values on both sides of a threshold and of both signs, or often with the value of a condition.

    None if the condition has no number, or is not about `first`.
    """
    if condition.kind == "is" and condition.fact == first and is_number(condition.values[0]):
        return fill_often_with(float(condition.values[0]))
    make = fill_between(condition.fact, first) if condition.kind in ("above", "below") else None
    limit = float(condition.values[0]) if condition.values and is_number(condition.values[0]) else math.inf
    return make(-2 * abs(limit) - 1, 2 * abs(limit) + 1) if make and abs(limit) < MAX_ORDINARY else None
