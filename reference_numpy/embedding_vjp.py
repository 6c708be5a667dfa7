from typing import Any

import numpy as np

from ._marks import float64, piled
from ._sums import rows


def embedding_vjp(cotangent: Any, token_ids: Any, weight: Any, *, padding_idx: int | None = None) -> Any:
    """Gradient of embedding: each row of the table gathers the cotangents of its tokens.

        dweight_vj = sum over the tokens t with id v of c_tj,   0 for v = padding_idx

    Shapes
        cotangent (..., d),  token_ids (...) integers,  weight (vocab, d)  ->  (None, dweight)
    Dtypes
        as the arguments
    Domain
        0 <= token_ids < vocab; -vocab <= padding_idx < vocab, counted from the end if it is negative.
    Edges
        The row of an id that does not occur is exactly 0, that of an id that occurs once a copy. Token ids
        have no gradient.
    Choices
        Dense. Without a padding_idx every row has a gradient.
    Source
        The transpose of the look-up: a scatter-add.

    >>> embedding_vjp([[1.0], [10.0], [100.0]], [2, 0, 2], [[0.0], [0.0], [0.0]])[1]
    array([[ 10.],
           [  0.],
           [101.]])
    """
    c, ids, vocab = rows(float64(cotangent)), np.ravel(token_ids), float64(weight).shape[0]
    counts = np.bincount(ids, minlength=vocab)
    order, groups = np.argsort(ids, kind="stable"), [np.sum(c[:0], axis=0, keepdims=True)]
    place, next_place = np.zeros(vocab, dtype=int), 1  # in the groups; the first row is that of absent ids
    starts = np.cumsum(counts) - counts
    for count in np.unique(counts[counts > 0]):
        (of_count,) = np.nonzero(counts == count)
        groups.append(piled(c[order[starts[of_count][:, None] + np.arange(count)]], axis=1))
        place[of_count] = next_place + np.arange(len(of_count))
        next_place += len(of_count)
    gathered = np.concatenate(groups, axis=0)[place]
    if padding_idx is None:
        return None, gathered
    return None, np.where((np.arange(vocab) == padding_idx % vocab)[:, None], 0.0, gathered)
