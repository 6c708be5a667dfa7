"""Wrong ways to find the scale of each element."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._narrow import spread


def spread_first(scale: Any, block: Any, shape: tuple[int, ...]) -> Any:
    """Return the first scale of each matrix, for all of its elements."""
    return spread(scale[..., :1, :1], (None, None), shape)


def spread_largest(scale: Any, block: Any, shape: tuple[int, ...]) -> Any:
    """Return the largest scale of each matrix, for all of its elements."""
    if 0 in scale.shape:
        return spread(scale, block, shape)
    largest = np.max(np.max(scale, axis=-1, keepdims=True), axis=-2, keepdims=True)
    return spread(largest, (None, None), shape)


def _by_index(index: Callable[[int, int], Any]) -> Callable[[Any, Any, Any], Any]:
    """Return the function that spreads scales by another index of each block, made of a length and a size of blocks."""

    def spread_by_index(scale: Any, block: Any, shape: tuple[int, ...]) -> Any:
        for axis, size, length in ((-2, block[0], shape[-2]), (-1, block[1], shape[-1])):
            known = max(length if size is None else min(size, max(length, 1)), 1)
            scale = np.take(scale, np.clip(index(length, known), 0, scale.shape[axis] - 1), axis=axis)
        return scale

    return spread_by_index


from_the_end = _by_index(lambda length, size: (np.arange(length) + -length % size) // size)  # the first block is the short one
split_evenly = _by_index(lambda length, size: np.arange(length) * -(-length // size) // max(length, 1))
# The last block begins early, so that it is as long as the others.
slid_back = _by_index(
    lambda length, size: np.where(np.arange(length) >= length - size, (length - 1) // size, np.arange(length) // size)
)


def across_rows(scale: Any, block: Any, shape: tuple[int, ...]) -> Any:
    """Return scales whose blocks (1, n) are counted through the flat matrix, so that they do not begin with each row."""
    rows, columns = shape[-2:]
    if block[0] != 1 or block[1] is None or rows < 2 or columns < 1:
        return spread(scale, block, shape)
    index = np.arange(rows * columns) // block[1]
    whole = np.reshape(scale, (*scale.shape[:-2], scale.shape[-2] * scale.shape[-1]))
    return np.reshape(np.take(whole, index, axis=-1), (*scale.shape[:-2], rows, columns))


def transposed(scale: Any, block: Any, shape: tuple[int, ...]) -> Any:
    """Return scales that are read as if they were stored column by column."""
    rows, columns = scale.shape[-2:]
    flat = np.reshape(scale, (*scale.shape[:-2], columns, rows))
    return spread(np.swapaxes(flat, -1, -2), block, shape)
