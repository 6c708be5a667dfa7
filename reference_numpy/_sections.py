"""The axis of positions by which each pair of features turns: time, height or width."""

from typing import Any

import numpy as np


def axis_of_each_pair(sections: Any, *, section_layout: str, pairs: int) -> np.ndarray:
    """Return for each pair the axis whose position turns it: 0 for time, 1 for height, 2 for width."""
    if len(sections) != 3 or sum(sections) != pairs or min(sections) < 0:
        raise ValueError(f"rope: sections = {tuple(sections)} are not three numbers of pairs whose sum is {pairs}.")
    k = np.arange(pairs)
    if section_layout == "chunked":
        return np.repeat(np.arange(3), sections)
    if section_layout == "interleaved":
        return np.where(k < 3 * np.take(sections, k % 3), k % 3, 0)
    raise ValueError(f"rope: section_layout={section_layout!r} is unknown; there are 'chunked' and 'interleaved'.")
