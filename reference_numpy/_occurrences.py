"""How often tokens occur among the ids of a row."""

from typing import Any

import numpy as np

from ._sums import rows


def occurrences(ids: Any, shape: tuple[int, ...]) -> Any:
    """Return how often each token occurs in the ids of its row, as an array of this shape. An id below 0 is no token."""
    ids = rows(np.asarray(ids))
    counts = np.zeros((ids.shape[0], shape[-1]))
    row, place = np.nonzero(ids >= 0)
    np.add.at(counts, (row, ids[row, place]), 1.0)
    return np.reshape(counts, shape)
