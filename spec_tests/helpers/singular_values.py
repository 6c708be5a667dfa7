"""What Newton-Schulz makes of singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operations.newton_schulz import COEFFICIENTS
from .assertions import exactly


def iterate(s: Any, given: dict[str, Any], *, is_floor: bool) -> Any:
    """Return what singular values become: p(s) = a s + b s³ + c s⁵, iterated after the division by their norm."""
    a, b, c = map(exactly, given.get("coefficients", COEFFICIENTS[0]))
    eps: Any = exactly(given.get("eps", 1e-7))
    norm: Any = np.sqrt(np.sum(np.square(s), axis=-1, keepdims=True))
    y: Any = s / (np.maximum(norm, eps) if is_floor else norm + eps)
    for _ in range(given.get("steps", 5)):
        square = y * y
        y = y * (a + b * square + c * square * square)
    return y
