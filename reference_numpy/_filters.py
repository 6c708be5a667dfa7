"""What the causal convolution and its deviations share."""

from typing import Any

import numpy as np

from ._marks import float64, joined, piled
from .silu import silu


def with_past(x: Any, past: int, state: Any = None) -> Any:
    """Return the columns of x behind those of the state, or behind so many columns of zeros."""
    before = np.zeros((*x.shape[:-1], past)) if state is None else float64(state)
    return np.concatenate([before, x], axis=-1)


def filtered(columns: Any, weight: Any, bias: Any = None) -> Any:
    """Return the sum of each window of w columns, multiplied by the taps of the filter, with the bias."""
    w = weight.shape[-1]
    n = columns.shape[-1] - (w - 1)
    windows = np.stack([columns[..., j : j + n] for j in range(w)], axis=-1)
    y = piled(windows * weight[:, None, :], axis=-1)
    return y if bias is None else joined(y, float64(bias)[:, None], n=w)


def activated(y: Any, activation: str | None, operation: str) -> Any:
    """Return silu(y), or y without an activation."""
    if activation not in (None, "silu"):
        raise ValueError(f"{operation}: activation={activation!r} is unknown; there are None and 'silu'.")
    return y if activation is None else silu(y)
