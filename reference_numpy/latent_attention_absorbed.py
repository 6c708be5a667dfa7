from typing import Any

from ._latent import held_rows, keys_and_values, seen_rows
from ._marks import float64
from ._pages import rows_in_pages
from .attention_with_lse import attention_with_lse


def latent_attention_absorbed(
    q: Any, cache: Any, lengths: Any = None, block_table: Any = None, *, rank: int, scale: float, is_causal: bool = True
) -> Any:
    """The absorbed form of latent attention: all heads attend to one cache, whose first columns are the values, too.

        out, lse = attention_with_lse(q, cache, cache[:, :rank])   with one head of keys

    Shapes
        q (..., h, n, d_k),  cache (..., m, d_k) or (P, page_size, d_k),  lengths (...),  block_table (..., pages)
        ->  out (..., h, n, rank),  lse (..., h, n)
    Dtypes
        out as the arguments; lse as the arguments, or float32 or wider
    Units
        Scores and lse in nats; lengths in rows, after the n new ones were written; the table in pages.
    Domain
        All finite. 1 <= rank <= d_k. 0 <= lengths <= m; with lengths there is one axis of the batch. A block_table needs
        lengths, which are at most pages * page_size; the entries that lengths need lie in 0 ... P - 1.
    Edges
        What lies in rows from lengths on does not show, nor do entries of the table that lengths do not need. A page may
        stand in several rows of the table, and several times in one. A query that sees no row has lse = -inf and no
        weights: NaN here.
    Choices
        With a block_table the cache lies in pages, as that of paged_attention does, and has no batch: its rows are those of
        the pages block_table[b, 0], block_table[b, 1], ... one after the other.
        A row of the cache is the latent and behind it the rotated part, d_k = r + d_r. The scale is given, since it is that of
        heads before w_uk was absorbed. Causality is bottom-right: the last query sees the last row.
    Source
        DeepSeek-AI 2024, arXiv:2405.04434, section 2.1.2. FlashMLA, whose head_dim_v is rank.

    Two rows with the same key part of the score:

    >>> import numpy as np
    >>> q, cache = np.array([[[0.0, 1.0]]]), np.array([[2.0, 1.0], [4.0, 1.0]])
    >>> out, lse = latent_attention_absorbed(q, cache, rank=1, scale=1.0)
    >>> out, lse.round(4)
    (array([[[3.]]]), array([[1.6931]]))
    """
    q, rows = float64(q), held_rows(rows_in_pages(cache, block_table, lengths), lengths)
    seen = seen_rows(q.shape[-2], rows.shape[-2], lengths, is_causal)
    return attention_with_lse(q, *keys_and_values(rows, rank), seen, scale=scale)
