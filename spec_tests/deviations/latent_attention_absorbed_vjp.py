"""What goes wrong with the gradients of absorbed latent attention: a row of the cache is a key and a value."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy._pages import listed_pages, rows_in_pages
from reference_numpy.latent_attention_absorbed_vjp import latent_attention_absorbed_vjp

from . import deviation


@deviation("reference", "values_share_the_cotangent")
def gradient_of_the_keys_alone(
    cotangent: Any, q: Any, cache: Any, lengths: Any = None, block_table: Any = None, **options: Any
) -> Any:
    """the cache has the gradient of its rows as keys alone.

    Shows: any cotangent of out. Hides: a cotangent of lse alone.
    """
    dq, dcache, *none = latent_attention_absorbed_vjp(cotangent, q, cache, lengths, block_table, **options)
    values = latent_attention_absorbed_vjp(cotangent, 0.0 * float64(q), cache, lengths, block_table, **options)[1]
    return dq, dcache - values, *none


@deviation("reference", "values_share_the_cotangent")
def mean_over_heads(cotangent: Any, q: Any, cache: Any, lengths: Any = None, block_table: Any = None, **options: Any) -> Any:
    """the gradient of the cache is the mean over heads, not the sum.

    Shows: several heads. Hides: one head.
    """
    dq, dcache, *none = latent_attention_absorbed_vjp(cotangent, q, cache, lengths, block_table, **options)
    return dq, dcache / float(q.shape[-3]), *none


@deviation("reference", "unseen_rows")
def causality_not_differentiated(
    cotangent: Any, q: Any, cache: Any, lengths: Any = None, block_table: Any = None, *, is_causal: bool = True, **options: Any
) -> Any:
    """the backward pass sees every row, whatever causality hides.

    Shows: causality and several queries. Hides: is_causal = False; one query.
    """
    return latent_attention_absorbed_vjp(cotangent, q, cache, lengths, block_table, is_causal=False, **options)


@deviation("reference", "pages_get_the_sum")
def last_entry_of_the_table_wins(
    cotangent: Any, q: Any, cache: Any, lengths: Any = None, block_table: Any = None, **options: Any
) -> Any:
    """a page that several entries of the table list gets the gradient of the last of them: written, and not added.

    Shows: pages that are listed more than once. Hides: pages of their own for each entry; no block_table.
    """
    if block_table is None:
        return latent_attention_absorbed_vjp(cotangent, q, cache, lengths, **options)
    table = listed_pages(block_table, lengths, cache.shape[1])
    rows = rows_in_pages(cache, block_table, lengths)
    dq, drows, *none = latent_attention_absorbed_vjp(cotangent, q, rows, lengths, **options)
    of_entries, flat = np.reshape(drows, (table.size, *cache.shape[1:])), np.ravel(table)
    last = [np.flatnonzero(flat == page)[-1:] for page in range(cache.shape[0])]
    parts = [of_entries[entry[0]] if entry.size else 0.0 * cache[page] for page, entry in enumerate(last)]
    return dq, np.stack(parts, axis=0), *none, None
