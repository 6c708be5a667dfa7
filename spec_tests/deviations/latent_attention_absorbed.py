"""What goes wrong with absorbed latent attention: which columns are values, and what a query sees."""

from typing import Any

import numpy as np

from reference_numpy._latent import held_rows, seen_rows
from reference_numpy._marks import float64
from reference_numpy._pages import rows_in_pages
from reference_numpy.attention_with_lse import attention_with_lse
from reference_numpy.latent_attention_absorbed import latent_attention_absorbed

from . import deviation


@deviation("reference", "is_attention_to_one_head")
def last_columns_are_values(
    q: Any, cache: Any, lengths: Any = None, block_table: Any = None, *, rank: int, scale: float, is_causal: bool = True
) -> Any:
    """the values are the last rank columns of the cache, as where the rotated part stands first.

    Shows: a rank below d_k. Hides: rank = d_k.
    """
    q, rows = float64(q), held_rows(rows_in_pages(cache, block_table, lengths), lengths)
    v = np.expand_dims(rows[..., rows.shape[-1] - rank :], -3)
    seen = seen_rows(q.shape[-2], rows.shape[-2], lengths, is_causal)
    return attention_with_lse(q, np.expand_dims(rows, -3), v, seen, scale=scale)


@deviation("reference", "is_attention_to_one_head")
def scores_of_the_latent_alone(
    q: Any, cache: Any, lengths: Any = None, block_table: Any = None, *, rank: int, scale: float, is_causal: bool = True
) -> Any:
    """the columns behind the rank, the rotated part, take no part in the scores.

    Shows: a rank below d_k. Hides: rank = d_k; queries of 0 there.
    """
    q, rows = float64(q), held_rows(rows_in_pages(cache, block_table, lengths), lengths)
    seen = seen_rows(q.shape[-2], rows.shape[-2], lengths, is_causal)
    shared = np.expand_dims(rows[..., :rank], -3)
    return attention_with_lse(q[..., :rank], shared, shared, seen, scale=scale)


@deviation("reference", "columns_behind_the_rank")
def sum_of_the_row_in_the_first_column(
    q: Any, cache: Any, lengths: Any = None, block_table: Any = None, *, rank: int, scale: float, is_causal: bool = True
) -> Any:
    """the first column of a value has the last column of its row added, as where rows overlap by a column.

    Shows: a rank below d_k. Hides: a last column of 0.
    """
    q, rows = float64(q), held_rows(rows_in_pages(cache, block_table, lengths), lengths)
    seen = seen_rows(q.shape[-2], rows.shape[-2], lengths, is_causal)
    first = np.arange(rank) == 0
    v = np.where(first, rows[..., :rank] + rows[..., -1:], rows[..., :rank]) if rank < rows.shape[-1] else rows
    return attention_with_lse(q, np.expand_dims(rows, -3), np.expand_dims(v, -3), seen, scale=scale)


@deviation("reference", "nothing_beyond_the_lengths")
def lengths_are_ignored(
    q: Any, cache: Any, lengths: Any = None, block_table: Any = None, *, rank: int, scale: float, is_causal: bool = True
) -> Any:
    """every row of the cache counts, whatever the lengths are.

    Shows: lengths below m. Hides: no lengths, or full caches.
    """
    whole = None if block_table is None else np.full(np.shape(lengths), np.shape(block_table)[-1] * cache.shape[1])
    return latent_attention_absorbed(q, cache, whole, block_table, rank=rank, scale=scale, is_causal=is_causal)


@deviation("reference", "decode_is_prefill", "is_attention_to_one_head")
def causality_from_the_first_row(
    q: Any, cache: Any, lengths: Any = None, block_table: Any = None, *, rank: int, scale: float, is_causal: bool = True
) -> Any:
    """without lengths, query i sees the rows up to i (top-left), where it stands at row i + m − n.

    Shows: more rows than queries under causality. Hides: as many of both; is_causal = False.
    """
    n, m = q.shape[-2], cache.shape[-2]
    rows = cache[..., :n, :] if is_causal and lengths is None and n < m else cache
    return latent_attention_absorbed(q, rows, lengths, block_table, rank=rank, scale=scale, is_causal=is_causal)


@deviation("lse_base", "reference")
def lse_in_decimal_digits(
    q: Any, cache: Any, lengths: Any = None, block_table: Any = None, *, rank: int, scale: float, is_causal: bool = True
) -> Any:
    """lse is the logarithm to the base 10.

    Shows: any lse but 0. Hides: out.
    """
    out, lse = latent_attention_absorbed(q, cache, lengths, block_table, rank=rank, scale=scale, is_causal=is_causal)
    return out, lse * float(1 / np.log(10.0))


@deviation("fully_masked_rows")
def ones_for_a_blind_query(
    q: Any, cache: Any, lengths: Any = None, block_table: Any = None, *, rank: int, scale: float, is_causal: bool = True
) -> Any:
    """a query before the first row has an out of ones.

    Shows: more queries than rows. Hides: all other calls.
    """
    out, lse = latent_attention_absorbed(q, cache, lengths, block_table, rank=rank, scale=scale, is_causal=is_causal)
    blind = np.isneginf(np.asarray(getattr(lse, "value", lse)))
    blind = np.any(blind, axis=0) if blind.ndim > lse.ndim else blind
    return np.where(blind[..., None], 1.0, out), lse
