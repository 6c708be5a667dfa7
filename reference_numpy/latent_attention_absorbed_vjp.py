from typing import Any

from ._latent import held_rows, keys_and_values, seen_rows
from ._marks import float64, rounded
from ._pages import rows_in_pages, summed_to_pages
from ._reverse_mode import vjp
from .attention_with_lse_vjp import attention_with_lse_vjp


def latent_attention_absorbed_vjp(
    cotangent: Any,
    q: Any,
    cache: Any,
    lengths: Any = None,
    block_table: Any = None,
    *,
    rank: int,
    scale: float,
    is_causal: bool = True,
) -> Any:
    """Gradients of absorbed latent attention: a row of the cache is a key and a value, and has both gradients.

        dcache = dk,   and dv added to its first columns

    Shapes
        cotangent: c (..., h, n, rank) or None, g (..., h, n) or None;  q (..., h, n, d_k),
        cache (..., m, d_k) or (P, page_size, d_k),  lengths (...),  block_table (..., pages)
        ->  (dq, dcache, None, None), each as its argument
    Dtypes
        as the arguments
    Domain
        As in latent_attention_absorbed; each query sees a row; cotangents finite.
    Edges
        A row that no query sees gets exactly 0, as does a page that no entry of the
        table that lengths need lists. A result whose cotangent is None counts as one whose cotangent is 0.
    Choices
        dk and dv are sums over all heads. A page gets the sum over the entries of the table that list it.
    Source
        Differentiation of DeepSeek-AI 2024, arXiv:2405.04434, section 2.1.2.

    A single row is the value of the whole weight:

    >>> import numpy as np
    >>> latent_attention_absorbed_vjp((np.ones((1, 1, 1)), None), np.ones((1, 1, 2)), np.ones((1, 2)), rank=1, scale=1.0)[1]
    array([[1., 0.]])
    """
    q, held = float64(q), held_rows(rows_in_pages(cache, block_table, lengths), lengths)
    seen = seen_rows(q.shape[-2], held.shape[-2], lengths, is_causal)
    k, v = keys_and_values(held, rank)
    dq, dk, dv, *_ = attention_with_lse_vjp(cotangent, q, k, v, seen, scale=scale)
    dcache = vjp(keys_and_values, (dk, dv), held, rank=rank)[0]
    if block_table is not None:
        dcache = summed_to_pages(rounded(dcache), block_table, lengths, cache)
    return dq, dcache, None, None
