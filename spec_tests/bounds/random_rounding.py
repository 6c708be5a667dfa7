"""Random roundings for the sampled bound: on a grid of random scale, and of sums of products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..specification.formats import Format

PER_VALUE_SCALE_PERIOD = 4


def round_on_random_grid(x: np.ndarray, chance: np.ndarray, factor: np.ndarray, f: Format) -> np.ndarray:
    """x, whose first axis is that of the draws, each rounded by f on a grid of a scale of its own, and coarser by its factor: as
    in a real rounding, equal values get equal errors. So do most that are close, but a real grid may part them: in every fourth
    draw each value has a scale of its own."""
    y = _round_scaled(x, 2.0**chance, factor, f)
    own = x[::PER_VALUE_SCALE_PERIOD] if len(x) > 1 else x
    y[::PER_VALUE_SCALE_PERIOD] = _round_scaled(
        own, 1.0 + chance[::PER_VALUE_SCALE_PERIOD] + _hash_to_unit_interval(own), factor[::PER_VALUE_SCALE_PERIOD], f
    )
    return y if not y.size or np.isfinite(np.max(y)) else np.where(np.isfinite(y), y, x)


def _round_scaled(x: np.ndarray, scale: np.ndarray, factor: np.ndarray, f: Format) -> np.ndarray:
    y = x * scale
    splitter = factor * 2.0 ** (53 - f.precision) + 1  # Veltkamp's splitting rounds to nearest
    t = y * splitter
    np.subtract(t, np.subtract(t, y, out=y), out=y)
    y /= scale
    if f.flush != f.tiny and np.any(small := np.abs(x) < f.tiny):
        quantum = f.quantum * factor
        y = np.where(small, np.rint(x * scale / quantum) * quantum / scale, y)
    return y


def _hash_to_unit_interval(x: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1) that are the same where x is, and have else nothing to do with one another."""
    bits = np.ascontiguousarray(x).view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53)


MIN_RELIABLE_SQUARE = 1e-280  # squares below it may have lost what makes them up


def spread_of_partial_sums(n: int, total: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Root of the sum of squared partial sums of n terms in random order: sequential summation errs by u times it.
    root is that of the sum of the squared terms."""
    squares = np.square(root)
    with np.errstate(under="ignore"):
        spread = np.sqrt(n / 3 * (np.square(total) + squares) + squares)
    return np.maximum(spread, np.abs(total), out=spread)  # where the squares underflow


def root_of_squares(a: np.ndarray, b: np.ndarray, f: Format) -> np.ndarray:
    """Root of the sums of the squared products in a @ b."""
    squares = np.square(a) @ np.square(b)
    if f.emin < -126 and squares.size and np.min(squares) < MIN_RELIABLE_SQUARE:  # may have underflowed: a larger number will do
        return np.where(squares < MIN_RELIABLE_SQUARE, np.abs(a) @ np.abs(b), np.sqrt(squares))
    return np.sqrt(squares)


def lost_to_underflow(a: np.ndarray, b: np.ndarray, f: Format) -> Any:
    """What a @ b lacks at most if products below the normal range are zeros."""
    of_rows, of_columns = _min_nonzero(a, axis=-1), _min_nonzero(b, axis=-2)
    if not of_rows.size or not of_columns.size or np.min(of_rows) * np.min(of_columns) >= f.tiny:
        return 0.0
    return np.where(of_rows * of_columns < f.tiny, a.shape[-1] * f.tiny, 0.0)


def _min_nonzero(x: np.ndarray, axis: int) -> np.ndarray:
    least: np.ndarray = np.min(np.abs(x), axis=axis, keepdims=True, where=x != 0, initial=np.inf)
    return least
