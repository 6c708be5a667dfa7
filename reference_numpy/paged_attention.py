from typing import Any

from ._marks import float64
from ._pages import gathered, in_slots, listed_pages
from .attention_with_kv_cache import attention_with_kv_cache


def paged_attention(
    q: Any,
    k_pages: Any,
    v_pages: Any,
    block_table: Any,
    lengths: Any,
    sinks: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
    *,
    is_causal: bool = True,
    scale: float | None = None,
    softcap: float | None = None,
    left_window: int | None = None,
    right_window: int | None = None,
    cache_dtype: str | None = None,
) -> Any:
    """Attention with a cache whose slots lie in pages, which a table lists for each row.

        keys of row b = the pages block_table[b, 0], block_table[b, 1], ... one after the other, the first lengths[b] slots

    Shapes
        q (b, h, n, d_k),  k_pages (P, page_size, h_kv, d_k),  v_pages (P, page_size, h_kv, d_v),  block_table (b, pages),
        lengths (b),  sinks (h),  k_scale () or (h_kv) or (P, page_size, h_kv),  v_scale () or (h_kv) or (P, page_size, h_kv)
        ->  (b, h, n, d_v)
    Dtypes
        as the arguments
    Units
        lengths in slots, after the new keys were written; the table in pages.
    Domain
        As in attention_with_kv_cache; the entries of the table that lengths need lie in 0 ... P - 1.
    Edges
        Entries beyond those that lengths need, and slots beyond lengths in the last page, do not show. A page may stand
        in several rows, and several times in one.

    Raises
        ValueError where h_kv does not divide h, cache_dtype is no format of a cache, or a scale is given without it.
    Choices
        A page is (page_size, h_kv, d), the layout NHD. lengths say how many keys there are, not how many the last page has.
        Scales are those of attention_with_kv_cache, or lie in pages themselves.
    Source
        Kwon et al. 2023, arXiv:2309.06180, section 4.1.

    Two pages of one slot each, listed in reverse:

    >>> import numpy as np
    >>> pages, table = np.array([[[[5.0]]], [[[7.0]]]]), np.array([[1, 0]])
    >>> paged_attention(np.ones((1, 1, 1, 1)), 0 * pages, pages, table, np.array([1]))
    array([[[[7.]]]])
    """
    table = listed_pages(block_table, lengths, k_pages.shape[1])
    k, v = (gathered(float64(pages), table) for pages in (k_pages, v_pages))
    k_scale, v_scale = (x if x is None else in_slots(float64(x), table) for x in (k_scale, v_scale))
    return attention_with_kv_cache(
        q, k, v, lengths, sinks, k_scale, v_scale, is_causal=is_causal, scale=scale, softcap=softcap,
        left_window=left_window, right_window=right_window, cache_dtype=cache_dtype,
    )  # fmt: skip
