"""For each entry of a row, sums over the entries that are not larger.

Code that reads a row block by block may leave the roundings of these entries at each maximum so far.
"""

from __future__ import annotations

import numpy as np


def sum_up_to(terms: np.ndarray, x: np.ndarray, axis: int) -> np.ndarray:
    """Return for each entry the sum of the terms of all entries of its row that are not larger than it.

        r_j = sum of terms_i over the i with x_i <= x_j

    terms, x: of shapes that broadcast, and of the same size along `axis`. NaN counts as the largest number.
    """
    axis = axis if axis < 0 else axis - x.ndim
    rank = max(terms.ndim, x.ndim)  # one of them may lack batch axes that broadcast
    terms, x = (part.reshape((1,) * (rank - part.ndim) + part.shape) for part in (terms, x))
    order = np.argsort(x, axis=axis, kind="stable")
    ascending, sums = (np.take_along_axis(part, order, axis) for part in (x, terms))
    sums = np.cumsum(sums, axis=axis)
    length = x.shape[axis]
    if length > 1:  # equal entries have one sum: that at the last of them
        ends = np.ones(x.shape, dtype=bool)
        before, after = (np.take(ascending, range(*part), axis=axis) for part in ((length - 1,), (1, length)))
        np.moveaxis(ends, axis, -1)[..., :-1] = np.moveaxis(before != after, axis, -1)
        if not ends.all():
            place = np.where(ends, np.arange(length).reshape(-1, *[1] * (x.ndim - 1 - axis % x.ndim)), length - 1)
            last = np.flip(np.minimum.accumulate(np.flip(place, axis), axis=axis), axis)
            sums = np.take_along_axis(sums, last, axis)
    result = np.empty_like(sums)
    np.put_along_axis(result, order, sums, axis)
    return result
