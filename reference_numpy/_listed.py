"""Keys that a list selects for each query."""

from typing import Any

import numpy as np


def listed_keys(indices: Any, n: int, m: int, block_size: int) -> Any:
    """Return which keys each query sees, for all heads: those of the listed blocks that lie at its position or before it."""
    blocks, position = np.asarray(indices), np.arange(n)[:, None] + m - n
    listed = np.any(blocks[..., None] == np.arange(m) // block_size, axis=-2)
    return np.expand_dims(listed & (np.arange(m) <= position), -3)
