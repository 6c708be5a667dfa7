"""Structures: how the entries of an array stand to one another, whatever regime their values are of.

Kernels have fast paths for rows, columns, tails and signs of a certain kind. Each function takes a generator and rows, and
returns rows of the same shape. None makes a value that the rows did not have, but 0 and the opposite of one: bounds hold of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

Rows = np.ndarray  # (rows, entries)
Structure = Callable[[np.random.Generator, Rows], Rows]


def equal_rows(rng: np.random.Generator, x: Rows) -> Rows:
    return np.repeat(x[:1], len(x), axis=0)


def equal_in_pairs(rng: np.random.Generator, x: Rows) -> Rows:
    """Return rows in which every second entry repeats the one before. A row with other entries than −∞ keeps one of them."""
    is_hidden = np.isneginf(x[:, ::2]).all(axis=1, keepdims=True)
    return np.repeat(np.where(is_hidden, descending(rng, x), x)[:, ::2], 2, axis=1)[:, : x.shape[1]]


def ascending(rng: np.random.Generator, x: Rows) -> Rows:
    return np.sort(x, axis=1)


def descending(rng: np.random.Generator, x: Rows) -> Rows:
    return np.sort(x, axis=1)[:, ::-1]


def not_negative(rng: np.random.Generator, x: Rows) -> Rows:
    """Return rows of one sign. An infinity keeps its sign, since −∞ hides an entry and +∞ is no logit."""
    return np.where(np.isinf(x), x, np.abs(x))


def not_positive(rng: np.random.Generator, x: Rows) -> Rows:
    return np.where(np.isinf(x), x, -np.abs(x))


def padded(rng: np.random.Generator, x: Rows) -> Rows:
    """Return rows that end with zeros, each from another place on."""
    return np.where(np.arange(x.shape[1]) < rng.integers(1, x.shape[1] + 1, (len(x), 1)), x, 0.0)


def padded_in_front(rng: np.random.Generator, x: Rows) -> Rows:
    return padded(rng, x[:, ::-1])[:, ::-1]


def zero_rows_at_the_end(rng: np.random.Generator, x: Rows) -> Rows:
    return np.where(np.arange(len(x))[:, None] < rng.integers(1, len(x) + 1), x, 0.0)


def far_first(rng: np.random.Generator, x: Rows) -> Rows:
    """Return rows whose largest entry stands first."""
    return _with_largest_at(x, 0)


def far_last(rng: np.random.Generator, x: Rows) -> Rows:
    return _with_largest_at(x, x.shape[1] - 1)


def _with_largest_at(x: Rows, place: int) -> Rows:
    rows, largest = np.arange(len(x)), np.argmax(np.abs(np.where(np.isinf(x), 0.0, x)), axis=1)
    moved = x.copy()
    moved[rows, largest], moved[rows, place] = x[rows, place], x[rows, largest]
    return moved


STRUCTURES: Mapping[str, Structure] = MappingProxyType({
    "equal rows": equal_rows, "equal in pairs": equal_in_pairs, "ascending rows": ascending, "descending rows": descending,
    "not negative": not_negative, "not positive": not_positive, "padded": padded, "padded in front": padded_in_front,
    "zero rows at the end": zero_rows_at_the_end, "largest first": far_first, "largest last": far_last,
})  # fmt: skip


def arrange(rng: np.random.Generator, x: np.ndarray, structure: str) -> np.ndarray:
    """Return the array with its rows, along its last axis, in this structure."""
    if not x.size:
        return x
    rows = x.reshape(-1, x.shape[-1] if x.ndim else 1)
    return np.asarray(STRUCTURES[structure](rng, rows)).reshape(x.shape)
