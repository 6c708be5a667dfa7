"""Lengths of vectors, also of numbers whose squares leave the range."""

from __future__ import annotations

from typing import Any

import numpy as np


def column_lengths(x: np.ndarray) -> np.ndarray:
    """Return the length of each column."""
    return _lengths(x, -2)[..., 0, :]


def norm(x: Any) -> np.ndarray:
    """Return the length of each vector, with an axis for the columns of a state."""
    return _lengths(np.asarray(x), -1)


def _lengths(x: np.ndarray, axis: int) -> np.ndarray:
    """Return lengths of vectors along an axis, which is kept. The squares of numbers below 1e-162 would be 0."""
    largest = np.max(np.abs(x), axis=axis, keepdims=True, initial=0.0)
    scale = np.where((largest > 0) & (largest < np.inf), largest, 1.0)
    return np.asarray(scale * np.sqrt(np.sum(np.square(x / scale), axis=axis, keepdims=True)))
