"""What goes wrong with paged attention: the table, the last page, and what the pages hold."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.attention_with_kv_cache import attention_with_kv_cache
from reference_numpy.paged_attention import paged_attention

from . import deviation

BOUNDARY = ("https://github.com/pegainfer-project/pegainfer/issues/291",)
STALE = ("https://github.com/vllm-project/vllm/issues/42494", "https://github.com/vllm-project/vllm/pull/42420")


@deviation("reference", "rows_are_separate")
def table_of_the_first_row(
    q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, sinks: Any = None, **options: Any
) -> Any:
    """every row is read through the table of the first.

    Shows: rows with tables of their own. Hides: a single row.
    """
    table = np.broadcast_to(block_table[:1], np.shape(block_table))
    return paged_attention(q, k_pages, v_pages, table, lengths, sinks, **options)


@deviation("reference", "order_of_pages")
def pages_in_their_own_order(
    q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, sinks: Any = None, **options: Any
) -> Any:
    """the table is ignored: row b has pages b · pages, b · pages + 1, ….

    Shows: pages in any other order. Hides: a cache that was just filled, row by row.
    """
    rows, listed = np.shape(block_table)
    table = np.arange(rows * listed).reshape(rows, listed) % k_pages.shape[0]
    return paged_attention(q, k_pages, v_pages, table, lengths, sinks, **options)


@deviation("reference", seen=BOUNDARY)
def full_last_page_left_out(
    q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, sinks: Any = None, **options: Any
) -> Any:
    """a last page that is full counts as empty: length mod page_size is taken for the number of its slots.

    Shows: lengths that are a multiple of the page's size, above it. Hides: all others.
    """
    lengths, size = np.asarray(lengths), k_pages.shape[1]
    fewer = np.where((lengths % size == 0) & (lengths > size + q.shape[-2]), lengths - size, lengths)
    return paged_attention(q, k_pages, v_pages, block_table, fewer, sinks, **options)


@deviation("nothing_beyond_the_lengths", "reference", seen=STALE)
def whole_last_page_counts(
    q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, sinks: Any = None, **options: Any
) -> Any:
    """without causality the unused slots of the last page count as keys.

    Shows: is_causal = False and a last page that is not full. Hides: causality; full pages.
    """
    lengths, size = np.asarray(lengths), k_pages.shape[1]
    if not options.get("is_causal", True) and options.get("left_window") is None and options.get("right_window") is None:
        lengths = -(-lengths // size) * size
    return paged_attention(q, k_pages, v_pages, block_table, lengths, sinks, **options)


@deviation("reference", "size_of_pages")
def page_of_sixteen(q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, sinks: Any = None, **options: Any) -> Any:
    """a page is taken to have at least sixteen slots: the table is looked up at slot // 16, and a slot beyond is the last.

    Shows: smaller pages. Hides: pages of sixteen slots and more.
    """
    size, slots = k_pages.shape[1], np.shape(block_table)[1] * k_pages.shape[1]
    slot = np.arange(slots)
    place = slot // max(size, 16)
    within = np.minimum(slot - place * max(size, 16), size - 1)
    k, v = (np.swapaxes(x[np.asarray(block_table)[:, place], within], 1, 2) for x in (k_pages, v_pages))
    return attention_with_kv_cache(q, k, v, lengths, sinks, **options)


@deviation("reference")
def heads_before_slots(
    q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, sinks: Any = None, **options: Any
) -> Any:
    """a page is read as (h_kv, page_size, d), the layout HND, where it is (page_size, h_kv, d).

    Shows: several slots and several heads. Hides: one of either.
    """
    p, size, h, _ = k_pages.shape
    k, v = (np.swapaxes(np.reshape(x, (p, h, size, x.shape[-1])), 1, 2) for x in (k_pages, v_pages))
    return paged_attention(q, k, v, block_table, lengths, sinks, **options)


@deviation("reference")
def keys_and_values_a_page_apart(
    q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, sinks: Any = None, **options: Any
) -> Any:
    """the values are taken from the pages of the next row.

    Shows: rows with tables of their own. Hides: a single row.
    """
    size, table = k_pages.shape[1], np.asarray(block_table)
    needed = np.arange(table.shape[1]) * size < np.asarray(lengths)[:, None]
    own, other = np.where(needed, table, 0), np.where(needed, np.roll(table, 1, axis=0), 0)
    rows, listed = table.shape
    k, v = (
        np.swapaxes(np.reshape(x[t], (rows, listed * size, *x.shape[2:])), 1, 2) for x, t in ((k_pages, own), (v_pages, other))
    )
    return attention_with_kv_cache(q, k, v, lengths, sinks, **options)


@deviation("reference", "rows_are_separate")
def first_length_for_all(
    q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, sinks: Any = None, **options: Any
) -> Any:
    """every row has the length of the first.

    Shows: rows of different lengths. Hides: a single row, or rows of the same length.
    """
    lengths = np.broadcast_to(np.asarray(lengths)[:1], np.shape(lengths))
    return paged_attention(q, k_pages, v_pages, block_table, lengths, sinks, **options)


@deviation("reference", "shared_pages")
def pages_belong_to_one_row(
    q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any, sinks: Any = None, **options: Any
) -> Any:
    """a page that several entries of the table list belongs to the first of them; the others find zeros in its place.

    Shows: rows that share pages, as those with the same prefix do. Hides: rows with pages of their own.
    """
    size, table = k_pages.shape[1], np.asarray(block_table)
    needed = np.arange(table.shape[1]) * size < np.asarray(lengths)[:, None]
    table = np.where(needed, table, 0)
    taken: set[int] = set()
    own = np.zeros(table.shape, dtype=bool)
    for at in zip(*np.nonzero(needed), strict=True):
        own[at] = table[at] not in taken
        taken.add(int(table[at]))
    rows, listed = table.shape
    found = (np.where(own[..., None, None, None], x[table], 0.0) for x in (float64(k_pages), float64(v_pages)))
    k, v = (np.swapaxes(np.reshape(x, (rows, listed * size, *x.shape[3:])), 1, 2) for x in found)
    return attention_with_kv_cache(q, k, v, lengths, sinks, **options)
