"""Axes of arrays whose first axis holds the draws of a `Sample`, hidden from the equation."""

from __future__ import annotations

import numpy as np


def shift_axis(axis: int) -> int:
    """Return the axis of `value` for an axis of the array without the draws."""
    return axis + 1 if axis >= 0 else axis


def align_ranks(values: list[np.ndarray]) -> list[np.ndarray]:
    """Insert dimensions behind the axis of the draws, so that broadcasting lines the draws up."""
    ndim = max([v.ndim for v in values])
    return [v if v.ndim == ndim else v.reshape(v.shape[0], *[1] * (ndim - v.ndim), *v.shape[1:]) for v in values]


def broadcast_draws(values: list[np.ndarray]) -> list[np.ndarray]:
    """Give all values the same number of draws."""
    draws = max(len(v) for v in values)
    return [np.broadcast_to(v, (draws, *v.shape[1:])) for v in values]


def either(is_scaled: bool, condition: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return one of two values in each draw; NaN where the draws differ and errors are scaled back.

    The distance of the two values is no rounding error: it does not become smaller with the roundings.
    """
    condition, first, second = align_ranks([condition, first, second])
    chosen = np.where(condition, first, second)
    return np.where(np.any(condition, axis=0) & ~np.all(condition, axis=0), np.nan, chosen) if is_scaled else chosen
