"""Rounding on a grid of random scale, as the sampled error needs it."""

from __future__ import annotations

import numpy as np

from .formats import Format

APART = 4


def on_grid(x: np.ndarray, chance: np.ndarray, factor: np.ndarray, f: Format) -> np.ndarray:
    """x, whose first axis is that of the draws, each rounded by f on a grid of a scale of its own, and coarser by its factor: as
    in a real rounding, equal values get equal errors. So do most that are close, but a real grid may part them: in every fourth
    draw each value has a scale of its own."""
    y = _rounded(x, 2.0**chance, factor, f)
    own = x[::APART] if len(x) > 1 else x
    y[::APART] = _rounded(own, 1.0 + chance[::APART] + _scattered(own), factor[::APART], f)
    return y if not y.size or np.isfinite(np.max(y)) else np.where(np.isfinite(y), y, x)


def _rounded(x: np.ndarray, scale: np.ndarray, factor: np.ndarray, f: Format) -> np.ndarray:
    y = x * scale
    splitter = factor * 2.0 ** (53 - f.precision) + 1  # Veltkamp's splitting rounds to nearest
    t = y * splitter
    np.subtract(t, np.subtract(t, y, out=y), out=y)
    y /= scale
    if f.flush != f.tiny and np.any(small := np.abs(x) < f.tiny):
        quantum = f.quantum * factor
        y = np.where(small, np.rint(x * scale / quantum) * quantum / scale, y)
    return y


def _scattered(x: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1) that are the same where x is, and have else nothing to do with one another."""
    bits = np.ascontiguousarray(x).view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53)
