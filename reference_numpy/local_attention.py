from typing import Any

from ._marks import float64
from .scaled_dot_product_attention import scaled_dot_product_attention
from .sliding_window_mask import sliding_window_mask


def local_attention(q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None) -> Any:
    """Attention to near keys only, whatever the cost of computing it.

        y = attention(q, k, v, mask),   mask_ij = (|i - j| <= window)  and, if causal,  (j <= i)

    Shapes
        q (..., n, d_k),  k (..., m, d_k),  v (..., m, d_v)  ->  (..., n, d_v)
    Dtypes
        as the arguments
    Units
        window counts tokens to each side, the query's own not included.
    Domain
        As in attention; window >= 0; n <= m + window, or the last queries have no key.
    Edges
        window = 0 with n = m gives v. A window of m - 1 or more is attention itself, or causal attention.
        i and j are plain indices, and is_causal means j <= i, whatever n and m are.
    Choices
        Scaled by 1 / sqrt(d_k) unless told otherwise; the exercise does not scale: its variant is scale=1.
    Source
        Beltagy, Peters and Cohan 2020, arXiv:2004.05150, section 3.1. Exercise 9.

    With equal scores each token gets the mean over its window:

    >>> local_attention([[0.0]] * 4, [[0.0]] * 4, [[0.0], [3.0], [6.0], [12.0]], window=1)[:, 0]
    array([1.5, 3. , 7. , 9. ])
    """
    q, k = float64(q), float64(k)
    mask = sliding_window_mask(n=q.shape[-2], m=k.shape[-2], window=window, is_causal=is_causal)
    return scaled_dot_product_attention(q, k, v, mask, scale=scale)
