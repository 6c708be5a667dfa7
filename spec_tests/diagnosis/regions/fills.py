"""Values for the arrays of a call that is asked for: strange ones, and ones of a certain size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Fill = Callable[..., Any]  # (random generator, (rows, columns), dtype) -> rows; as the regimes of inputs/regimes.py

MIXED_SHARE = 1 / 3  # of the arrays that shall have one sign, but have both

MAX_ORDINARY = 100.0  # the largest magnitude of values that hide no error


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


WITH_NAN, WITH_INFINITY = fill_with(np.nan), fill_with(np.inf)


def fill_up_to(largest: float, sign: int = 0) -> Fill:
    """Return a function that draws normal numbers whose largest magnitude is `largest`.

    They have this sign, or both signs if it is 0, and in some arrays in any case: what goes wrong may depend on their spread.
    """

    def fill(rng: np.random.Generator, shape: tuple[int, int], _: Any) -> Any:
        x = rng.standard_normal(shape)
        x = np.abs(x) * sign if sign and rng.random() > MIXED_SHARE else x
        return x * (largest / np.max(np.abs(x))) if x.size else x

    return fill


def fill_often_with(value: float) -> Fill:
    """Return a function that draws normal numbers, about a third of which are replaced with a value."""

    def fill(rng: np.random.Generator, shape: tuple[int, int], _: Any) -> Any:
        return np.where(rng.random(shape) < 1 / 3, value, rng.standard_normal(shape))

    return fill
