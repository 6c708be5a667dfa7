"""What the laws of caches in pages share: which entries of a table, and which slots, count, and other tables of the same rows."""

from __future__ import annotations

import numpy as np

from ..inputs.draw import Draw, within_domain


def needed_entries(table: np.ndarray, lengths: np.ndarray, page_size: int) -> np.ndarray:
    """Return which entries of the table the lengths need."""
    return np.arange(table.shape[1]) * page_size < lengths[:, None]


def rows_of(pages: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the slots of each row in one piece, as they lie in the pages: (b, slots, …)."""
    return pages[table].reshape(len(table), -1, *pages.shape[2:])


def gather(pages: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the slots of each row in one piece: (b, h_kv, slots, d)."""
    return np.swapaxes(rows_of(pages, table), 1, 2)


def slots_in_use(table: np.ndarray, lengths: np.ndarray, pages: int, page_size: int) -> np.ndarray:
    """Return which slots of the physical pages some row needs: (P, page_size)."""
    used = np.zeros((pages, page_size), dtype=bool)
    for row, length in zip(table, lengths, strict=True):
        for place, page in enumerate(row):
            used[page] |= np.arange(page_size) < length - place * page_size
    return used


def cut_pages(draw: Draw, table: np.ndarray, *pages: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the table and the arrays with pages of half the size, or of single slots."""
    (count, size), *_ = (x.shape[:2] for x in pages)
    smaller = draw.one_of(tuple(s for s in (1, size // 2) if s and size % s == 0))
    parts = size // smaller
    within_domain(draw, page_size=smaller, pages=table.shape[1] * parts, P=count * parts)
    finer = (table[..., None] * parts + np.arange(parts)).reshape(len(table), -1)
    return finer, *(x.reshape(-1, smaller, *x.shape[2:]) for x in pages)
