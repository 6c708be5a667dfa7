"""The two halves of a packed array of features: the gate and what it gates."""

from typing import Any

import numpy as np


def split_halves(x: Any, *, layout: str, gate: str) -> tuple[Any, Any]:
    """Return the half that gates and the half that is gated, of x (..., 2 h)."""
    h, rest = divmod(x.shape[-1], 2)
    if rest:
        raise ValueError(f"gated_activation: {x.shape[-1]} features are odd; there are two halves.")
    if layout == "concatenated":
        first, second = x[..., :h], x[..., h:]
    elif layout == "interleaved":
        first, second = x[..., 0::2], x[..., 1::2]
    else:
        raise ValueError(f"gated_activation: layout={layout!r} is unknown; there are 'concatenated' and 'interleaved'.")
    if gate not in ("first", "second"):
        raise ValueError(f"gated_activation: gate={gate!r} is unknown; there are 'first' and 'second'.")
    return (first, second) if gate == "first" else (second, first)


def join_halves(g: Any, u: Any, *, layout: str, gate: str) -> Any:
    """Return the packed array with these halves: the inverse of `split_halves`."""
    first, second = (g, u) if gate == "first" else (u, g)
    if layout == "concatenated":
        return np.concatenate([first, second], axis=-1)
    return np.reshape(np.stack([first, second], axis=-1), (*first.shape[:-1], 2 * first.shape[-1]))
