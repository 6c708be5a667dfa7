"""Keys that a list selects for each query."""

from typing import Any

import numpy as np


def listed_keys(indices: Any, q: Any, k: Any, block_size: int) -> Any:
    """Return which keys each head of each query sees: those of the listed blocks that lie at its position or before it."""
    n, m = q.shape[-2], k.shape[-2]
    position = np.arange(n)[:, None] + m - n
    listed = np.any(np.asarray(indices)[..., None] == np.arange(m) // block_size, axis=-2)
    return for_heads(listed & (np.arange(m) <= position), q, k)


def for_heads(seen: Any, q: Any, k: Any) -> Any:
    """Return what each head of q sees: what all heads see, or each key head for the heads of q that read it."""
    return np.expand_dims(seen, -3) if seen.ndim < q.ndim else np.repeat(seen, q.shape[-3] // k.shape[-3], axis=-3)
