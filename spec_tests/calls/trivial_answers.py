"""Answers that need no arithmetic: constants, and copies of the arguments. What they hold shows nothing about a backend."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..bounds.bounded import Bounded
from ..specification.pytree import leaves
from .call import Call

CONSTANTS = (0.0, 1.0, -1.0, 0.5, math.nan)


def list_trivial_answers(call: Call) -> Iterator[np.ndarray]:
    """Yield trivial answers to a call, each as values like those of the oracle.

    They are constants, the reciprocal of the size of each axis, and each array among the arguments, whole or in part.
    """
    shapes = [part.shape for part in call.parts] if call.parts else [call.value.shape]
    sizes = sorted({size for shape in shapes for size in shape if size > 1})
    for constant in (*CONSTANTS, *(1 / size for size in sizes)):
        yield np.full(call.value.shape, constant)
    arrays = [x.value if isinstance(x, Bounded) else x for _, x in leaves(call.named)]
    for array in arrays:
        if isinstance(array, np.ndarray) and array.dtype.kind in "fiub":
            copies = [_fit(array.astype(np.float64), shape) for shape in shapes]
            if any(copy is not None for copy in copies):
                filled = [np.zeros(shape) if copy is None else copy for copy, shape in zip(copies, shapes, strict=True)]
                yield np.concatenate([copy.reshape(-1) for copy in filled]).reshape(call.value.shape)


def _fit(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the array cut off and repeated so that it has this shape, None if that is not possible."""
    if array.ndim > len(shape):
        array = array[(0,) * (array.ndim - len(shape))] if 0 not in array.shape else array.reshape(-1)[:0]
    if array.ndim > len(shape):
        return None
    array = array[tuple(slice(size) for size in shape[len(shape) - array.ndim :])]
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        return None
