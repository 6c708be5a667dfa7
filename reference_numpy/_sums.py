"""Where an equation repeats an array, by broadcasting or for every token, its gradient is a sum."""

import math
from typing import Any

import numpy as np


def rows(x: Any) -> Any:
    """Return x as a matrix: all axes but the last are one."""
    return np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def summed_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Return x, summed over the axes along which an array of this shape was broadcast to it."""
    new = x.ndim - len(shape)
    if new:
        x = np.sum(np.reshape(x, (math.prod(x.shape[:new]), *x.shape[new:])), axis=0)
    for axis, size in enumerate(shape):
        if size == 1 and x.shape[axis] != 1:
            x = np.sum(x, axis=axis, keepdims=True)
    return x
