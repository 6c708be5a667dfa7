"""What goes wrong with the pages of absorbed latent attention: the table, the size of a page, and the last page."""

from typing import Any

import numpy as np

from reference_numpy._pages import listed_pages, rows_in_pages
from reference_numpy.latent_attention_absorbed import latent_attention_absorbed

from . import deviation


@deviation("reference", "is_attention_to_the_listed_rows", "order_of_pages")
def pages_in_their_own_order(q: Any, cache: Any, lengths: Any = None, block_table: Any = None, **options: Any) -> Any:
    """the table is ignored: entry b of the batch has pages b · pages, b · pages + 1, ….

    Shows: pages in any other order. Hides: no block_table, and a cache that was just filled.
    """
    if block_table is not None:
        entries, listed = np.shape(block_table)
        block_table = np.arange(entries * listed).reshape(entries, listed) % cache.shape[0]
    return latent_attention_absorbed(q, cache, lengths, block_table, **options)


@deviation("reference", "is_attention_to_the_listed_rows")
def table_of_the_first_entry(q: Any, cache: Any, lengths: Any = None, block_table: Any = None, **options: Any) -> Any:
    """every entry of the batch is read through the table of the first.

    Shows: entries with tables of their own. Hides: no block_table, and a batch of one.
    """
    if block_table is not None:
        block_table = np.broadcast_to(np.asarray(block_table)[:1], np.shape(block_table))
    return latent_attention_absorbed(q, cache, lengths, block_table, **options)


@deviation("reference", "is_attention_to_the_listed_rows", "size_of_pages")
def pages_of_four_rows_at_least(q: Any, cache: Any, lengths: Any = None, block_table: Any = None, **options: Any) -> Any:
    """a page is taken to have four rows at least: row j is looked up in entry j // 4 of the table, where pages are smaller.

    Shows: pages of fewer rows. Hides: pages of four rows and more, and no block_table.
    """
    if block_table is None:
        return latent_attention_absorbed(q, cache, lengths, **options)
    size, table = cache.shape[1], np.asarray(block_table)
    row, taken = np.arange(table.shape[1] * size), max(size, 4)
    return latent_attention_absorbed(q, _read(cache, table, lengths, row // taken, row % taken), lengths, **options)


@deviation("reference", "is_attention_to_the_listed_rows", "size_of_pages")
def offset_in_the_page_taken_twice(q: Any, cache: Any, lengths: Any = None, block_table: Any = None, **options: Any) -> Any:
    """the place of a row in its page is added twice, and what lies beyond the page is its last row.

    Shows: pages of two rows and more. Hides: pages of one row, and no block_table.
    """
    if block_table is None:
        return latent_attention_absorbed(q, cache, lengths, **options)
    size, table = cache.shape[1], np.asarray(block_table)
    row = np.arange(table.shape[1] * size)
    return latent_attention_absorbed(q, _read(cache, table, lengths, row // size, 2 * (row % size)), lengths, **options)


@deviation("reference", "nothing_beyond_the_pages")
def whole_last_page_counts(q: Any, cache: Any, lengths: Any = None, block_table: Any = None, **options: Any) -> Any:
    """without causality the unused rows of the last page count.

    Shows: is_causal = False and a last page that is not full. Hides: causality; full pages; no block_table.
    """
    if block_table is not None and not options.get("is_causal", True):
        lengths = -(-np.asarray(lengths) // cache.shape[1]) * cache.shape[1]
    return latent_attention_absorbed(q, cache, lengths, block_table, **options)


@deviation("reference", "is_attention_to_the_listed_rows")
def full_last_page_left_out(q: Any, cache: Any, lengths: Any = None, block_table: Any = None, **options: Any) -> Any:
    """a last page that is full counts as empty: length mod page_size is taken for the number of its rows.

    Shows: lengths that are a multiple of the page's size, above it. Hides: all others, and no block_table.
    """
    if block_table is not None:
        lengths, size = np.asarray(lengths), cache.shape[1]
        lengths = np.where((lengths % size == 0) & (lengths > size + q.shape[-2]), lengths - size, lengths)
    return latent_attention_absorbed(q, cache, lengths, block_table, **options)


@deviation("quarantine_in_pages")
def hidden_rows_of_the_last_page_multiplied(
    q: Any, cache: Any, lengths: Any = None, block_table: Any = None, **options: Any
) -> Any:
    """the unused rows of the last page are multiplied by their weights of 0, so that a NaN or an infinity in them spreads.

    Shows: NaN and infinities in the unused rows. Hides: finite ones; full pages; no block_table.
    """
    out, lse = latent_attention_absorbed(q, cache, lengths, block_table, **options)
    if block_table is None:
        return out, lse
    rows, used = rows_in_pages(cache, block_table, lengths), np.asarray(lengths)[:, None]
    place = np.arange(rows.shape[1])
    unused = (place >= used) & (place < -(-used // cache.shape[1]) * cache.shape[1])
    products = 0.0 * np.where(unused[..., None], rows, 0.0)
    return out + np.sum(products, axis=1)[:, None, None, : out.shape[-1]], lse


def _read(cache: Any, table: Any, lengths: Any, place: Any, within: Any) -> Any:
    """Return for each row what lies so far within the page of this place in the table, or in the last row of that page."""
    size = cache.shape[1]
    page = listed_pages(table, lengths, size)[:, np.minimum(place, table.shape[1] - 1)]
    return cache[page, np.minimum(within, size - 1)]
