"""Where an equation repeats an array, by broadcasting or for every token, its gradient is a sum."""

import math
from typing import Any

import numpy as np

from ._marks import either, rounded


def rows(x: Any) -> Any:
    """Return x as a matrix: all axes but the last are one."""
    return np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def summed_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Return x, summed over the axes along which an array of this shape was broadcast to it: all of them in one sum."""
    axes = _repeated_axes(x.shape, shape)
    if not axes:
        return x
    for to, axis in enumerate(axes):
        x = np.moveaxis(x, axis, to)
    flat = np.reshape(x, (math.prod(x.shape[: len(axes)]), *x.shape[len(axes) :]))
    return np.reshape(np.sum(flat, axis=0), shape)


def product_summed_to(a: Any, b: Any, shape: tuple[int, ...], scale: Any = None) -> Any:
    """Return scale a b, summed over the axes along which an array of this shape was broadcast to it.

    Code may store each product of two matrices and add these, or may add all their terms in one sum.
    """
    each = _scaled(np.matmul(a, b), scale)
    axes = _repeated_axes(each.shape, shape)
    if not axes:
        return each
    return either(summed_to(rounded(each), shape), np.reshape(_scaled(_matmul_over(axes, a, b), scale), shape))


def _matmul_over(axes: list[int], a: Any, b: Any) -> Any:
    """Return a b, summed over batch axes, which become a part of the axis that a product sums over."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    for gone, axis in enumerate(axes):
        a, b = np.moveaxis(a, axis - gone, -2), np.moveaxis(b, axis - gone, -3)
    kept = a.shape[: len(batch) - len(axes)]
    a = np.reshape(a, (*kept, a.shape[len(kept)], math.prod(a.shape[len(kept) + 1 :])))
    return np.matmul(a, np.reshape(b, (*kept, a.shape[-1], b.shape[-1])))


def _repeated_axes(shape: tuple[int, ...], of: tuple[int, ...]) -> list[int]:
    new = len(shape) - len(of)
    return [*range(new), *(axis for axis, size in enumerate(of, new) if size == 1 and shape[axis] != 1)]


def _scaled(x: Any, scale: Any) -> Any:
    return x if scale is None else x * scale
