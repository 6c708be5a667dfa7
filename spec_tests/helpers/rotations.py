"""What laws of rope draw, and the pairs that it turns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inputs.draw import BATCHES, Draw
from ..operations.rope import draw_dims, draw_options, require_positions
from .assertions import exactly

SHIFTS = (1, 2, 7, 255, 300, 4096, 131_072, 1_000_000)


def draw_inputs(draw: Draw) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Draw tokens, their positions, and theta and layout."""
    n, d_k = draw_dims(draw)
    batch = draw.batch(BATCHES)
    return draw.vectors((*batch, n, d_k)), draw.positions(batch, n), draw_options(draw)


def draw_arbitrary_positions(draw: Draw, shape: tuple[int, ...], highest: int = 300) -> np.ndarray:
    """Draw positions below `highest`. Skip the law where the domain has no arbitrary positions."""
    require_positions(draw)
    return draw.rng.integers(0, highest, shape)


def split_pairs(x: Any, layout: str = "interleaved", **_: Any) -> tuple[Any, Any]:
    """Return the two coordinates of every pair."""
    half = x.shape[-1] // 2
    return (x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else (x[..., :half], x[..., half:])


def join_pairs(a: np.ndarray, b: np.ndarray, layout: str = "interleaved", **_: Any) -> np.ndarray:
    """Return the features whose pairs have these coordinates."""
    if layout == "half":
        return np.concatenate([a, b], axis=-1)
    return np.stack([a, b], axis=-1).reshape(*a.shape[:-1], 2 * a.shape[-1])


def compute_angles(
    positions: np.ndarray, d_k: int, theta: float = 10_000.0, inverse_frequencies: np.ndarray | None = None, **_: Any
) -> Any:
    """Return p f_k for every position p and pair k, where f_k is θ^(−2k/d_k) if no frequencies are given."""
    base: Any = exactly(theta)
    frequencies = np.power(base, -np.arange(0, d_k, 2) / d_k) if inverse_frequencies is None else exactly(inverse_frequencies)
    return exactly(positions)[..., None] * frequencies


def multiply_pairs(x: Any, y: Any, given: dict[str, Any]) -> Any:
    """Return the inner product of every pair of x with that of y."""
    (a, b), (c, d) = split_pairs(x, **given), split_pairs(y, **given)
    return a * c + b * d
