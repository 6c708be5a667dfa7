from typing import Any

from ._listed import listed_keys
from ._marks import float64
from .attention_with_lse_vjp import attention_with_lse_vjp


def sparse_attention_vjp(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    indices: Any,
    sinks: Any = None,
    *,
    scale: float | None = None,
    block_size: int = 1,
) -> Any:
    """Gradients of sparse_attention: those of attention_with_lse under the mask of the lists.

        dv = p^T c,   ds = p (c v^T - sum_d(c y) + g),   with p = 0 where a key is not listed

    Shapes
        cotangent: c (..., h, n, d_v) or None, g (..., h, n) or None;  q (..., h, n, d_k),  k (..., h_kv, m, d_k),
        v (..., h_kv, m, d_v),  indices (..., n, t) or (..., h_kv, n, t),  sinks (h)
        ->  (dq, dk, dv, None, dsinks), each as its argument
    Dtypes
        as the arguments
    Domain
        As in sparse_attention; each query has a key or a finite sink; cotangents finite.
    Edges
        A key that no query lists gets exactly 0. A result whose cotangent is None counts as one whose cotangent is 0.

    Raises
        ValueError as sparse_attention does.
    Choices
        The indices have no gradient: which keys are listed is given.
    Source
        Differentiation of Yuan et al. 2025, arXiv:2502.11089, section 3.3.2.

    The first key is listed alone, so its value gets the whole cotangent:

    >>> import numpy as np
    >>> keys = np.zeros((1, 2, 1))
    >>> sparse_attention_vjp(([[[3.0]]], None), [[[1.0]]], keys, keys, np.array([[0, -1]]))[2]
    array([[[3.],
            [0.]]])
    """
    q, k = float64(q), float64(k)
    seen = listed_keys(indices, q, k, block_size)
    dq, dk, dv, _, dsinks = attention_with_lse_vjp(cotangent, q, k, v, seen, sinks, scale=scale)
    return dq, dk, dv, None, dsinks
