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


def broadcast_axes(value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Broadcast the array in each draw to a shape."""
    return np.broadcast_to(align_ranks([value, np.empty((1, *shape))])[0], (len(value), *shape))


def broadcast_draws(values: list[np.ndarray]) -> list[np.ndarray]:
    """Give all values the same number of draws."""
    draws = max(len(v) for v in values)
    return [np.broadcast_to(v, (draws, *v.shape[1:])) for v in values]


def roll_draws(values: np.ndarray, shift: int, axis: int | None = None) -> np.ndarray:
    """Roll the elements of each draw, as np.roll does: along an axis, or in the order of all elements if none is given.

    >>> roll_draws(np.arange(6).reshape(1, 2, 3), 1).tolist(), roll_draws(np.arange(6).reshape(1, 2, 3), 1, -1).tolist()
    ([[[5, 0, 1], [2, 3, 4]]], [[[2, 0, 1], [5, 3, 4]]])
    """
    if axis is None:
        return np.roll(values.reshape(len(values), -1), shift, axis=1).reshape(values.shape)
    return np.roll(values, shift, axis=shift_axis(axis))
