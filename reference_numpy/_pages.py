"""A cache in pages: its slots as a table lists them."""

from typing import Any

import numpy as np

from .embedding_vjp import embedding_vjp


def listed_pages(block_table: Any, lengths: Any, page_size: int) -> Any:
    """Return the table with 0, a page that exists, in the entries that lengths do not need."""
    table, needed = np.asarray(block_table), -(-np.asarray(lengths) // page_size)
    return np.where(np.arange(table.shape[1]) < needed[:, None], table, 0)


def gathered(pages: Any, table: Any) -> Any:
    """Return the slots of each row, head by head."""
    rows, listed = table.shape
    return np.swapaxes(np.reshape(pages[table], (rows, listed * pages.shape[1], *pages.shape[2:])), 1, 2)


def in_slots(scale: Any, table: Any) -> Any:
    """Return scales as a cache in rows has them: those in pages slot by slot, others as they are."""
    return np.squeeze(gathered(np.expand_dims(scale, -1), table), axis=-1) if scale.ndim > 1 else scale


def rows_in_pages(cache: Any, block_table: Any, lengths: Any) -> Any:
    """Return the cache in rows: page by page as the table lists them, or as it is without a table."""
    if block_table is None:
        return cache
    table = listed_pages(block_table, lengths, cache.shape[1])
    return np.squeeze(gathered(np.expand_dims(cache, -2), table), axis=1)


def summed_to_pages(drows: Any, block_table: Any, lengths: Any, cache: Any) -> Any:
    """Return the gradient of a cache in pages from that of its rows: each page has the sum over its entries in the table."""
    table = listed_pages(block_table, lengths, cache.shape[1])
    flat = (cache.shape[0], cache.shape[1] * cache.shape[2])
    return np.reshape(embedding_vjp(np.reshape(drows, (*table.shape, flat[1])), table, np.zeros(flat))[1], cache.shape)
