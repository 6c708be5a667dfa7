"""How far a sum of products may be off, in roundings of random sign and by what vanishes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .formats import Format

LEAST = 1e-280  # squares below it may have lost what makes them up


def partial_sums(n: int, total: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Root of the sum of squared partial sums of n terms in random order: sequential summation errs by u times it.
    root is that of the sum of the squared terms."""
    squares = np.square(root)
    with np.errstate(under="ignore"):
        spread = np.sqrt(n / 3 * (np.square(total) + squares) + squares)
    return np.maximum(spread, np.abs(total), out=spread)  # where the squares underflow


def root_of_squares(a: np.ndarray, b: np.ndarray, f: Format) -> np.ndarray:
    """Root of the sums of the squared products in a @ b."""
    squares = np.square(a) @ np.square(b)
    if f.emin < -126 and squares.size and np.min(squares) < LEAST:  # may have underflowed: a larger number will do
        return np.where(squares < LEAST, np.abs(a) @ np.abs(b), np.sqrt(squares))
    return np.sqrt(squares)


def vanishing(a: np.ndarray, b: np.ndarray, f: Format) -> Any:
    """What a @ b lacks at most if products below the normal range are zeros."""
    of_rows, of_columns = _least(a, axis=-1), _least(b, axis=-2)
    if not of_rows.size or not of_columns.size or np.min(of_rows) * np.min(of_columns) >= f.tiny:
        return 0.0
    return np.where(of_rows * of_columns < f.tiny, a.shape[-1] * f.tiny, 0.0)


def _least(x: np.ndarray, axis: int) -> np.ndarray:
    least: np.ndarray = np.min(np.abs(x), axis=axis, keepdims=True, where=x != 0, initial=np.inf)
    return least
