"""Rows of logits, as softmax, log_softmax and logsumexp are tried on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..inputs.draw import MANY_ROWS, Draw
from ..inputs.regimes import LOGITS, Fill
from .rows import draw_row_shape


def draw_logit_rows(draw: Draw, longest: int = 300) -> np.ndarray:
    """Draw rows of every regime."""
    return draw.logits(draw_row_shape(draw, n=longest))


def draw_logit_rows_to_differentiate(draw: Draw, kinds: Mapping[str, Fill] = LOGITS) -> np.ndarray:
    """Draw rows of one of the regimes, on which gradients are tried."""
    return draw.array(draw_row_shape(draw, n=2049), kinds)


def vanishing_gap(draw: Draw) -> float:
    """Return a gap whose exponential is exactly zero in float32, and in float64 too where that is the dtype."""
    return 2000.0 if draw.format.name == "float64" else 256.0


def draw_rows_and_hidden_entries(draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Draw ordinary rows, and which of their entries to hide: never a whole row."""
    x, hidden = draw.normal(size := draw_row_shape(draw, n=300), 3.0), draw.rng.random(size) < draw.one_of((0.5, 0.1, 0.9))
    np.put_along_axis(hidden, draw.rng.integers(0, size[-1], (*size[:-1], 1)), False, axis=-1)
    return x, hidden


def draw_no_entries(draw: Draw) -> tuple[np.ndarray, dict[str, Any]]:
    """Draw an array that has an axis without entries, and return it with the axis. Its batch is empty, too, in few examples."""
    batch = draw.batch()
    batch = (*batch[:-1], 0) if batch and draw.one_of((False, False, False, False, True)) else batch
    rank = len(batch) + 1
    axis = draw.keyword("axis", (-1, *range(rank), *range(-rank, -1)))
    return np.moveaxis(np.zeros((*batch, 0)), -1, axis["axis"]), axis


def draw_rows_padded_with_minus_infinity(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw rows, and return them, the same rows with entries of −∞ among theirs, and the places of theirs among all."""
    n, hidden = draw.dims(n=300, hidden=300)
    batch = draw.batch(MANY_ROWS)
    x = draw.array((*batch, n), LOGITS)
    order = draw.one_of((np.arange(n + hidden), draw.rng.permutation(n + hidden)))
    padded = np.concatenate([x, np.full((*batch, hidden), -np.inf)], axis=-1)[..., order]
    return x, padded, np.argsort(order)[:n]
