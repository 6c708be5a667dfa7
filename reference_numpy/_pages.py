"""A cache in pages: its slots as a table lists them."""

from typing import Any

import numpy as np


def gathered(pages: Any, table: Any) -> Any:
    """Return the slots of each row, head by head."""
    rows, listed = table.shape
    return np.swapaxes(np.reshape(pages[table], (rows, listed * pages.shape[1], *pages.shape[2:])), 1, 2)


def in_slots(scale: Any, table: Any) -> Any:
    """Return scales as a cache in rows has them: those in pages slot by slot, others as they are."""
    return np.squeeze(gathered(np.expand_dims(scale, -1), table), axis=-1) if scale.ndim > 1 else scale
