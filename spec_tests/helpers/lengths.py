"""What vectors are divided by where their lengths are normalized."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..calls.operation import Operation
from .assertions import exactly
from .conventions import holds_value


def divisor(operation: Operation, x: np.ndarray, eps: float) -> Bounded:
    """Return what each row is divided by, as the convention l2_epsilon has it."""
    square: Any = np.sum(np.square(exactly(x)), axis=-1, keepdims=True)
    if holds_value(operation, "l2_epsilon", "inside"):
        return np.sqrt(square + eps)
    length, outside = np.sqrt(square), holds_value(operation, "l2_epsilon", "outside")
    return length + eps if outside else np.maximum(length, eps)
