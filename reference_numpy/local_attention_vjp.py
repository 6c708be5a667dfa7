from typing import Any

from ._marks import float64
from .scaled_dot_product_attention_vjp import scaled_dot_product_attention_vjp
from .sliding_window_mask import sliding_window_mask


def local_attention_vjp(
    cotangent: Any, q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None
) -> Any:
    """Gradients of local attention: those of attention under the sliding window.

    Shapes
        cotangent (..., n, d_v),  q (..., n, d_k),  k (..., m, d_k),  v (..., m, d_v)
        ->  (dq, dk, dv), each as its argument
    Dtypes
        as the arguments
    Domain
        As in local_attention; cotangents finite.
    Edges
        A token outside every window with a cotangent gets exactly 0. window = 0 with n = m: dv is the cotangent.
    Source
        Beltagy, Peters and Cohan 2020, arXiv:2004.05150, section 3.1, differentiated.

    >>> local_attention_vjp([[1.0], [0.0]], [[0.0]] * 2, [[0.0]] * 2, [[0.0]] * 2, window=0)[2]
    array([[1.],
           [0.]])
    """
    q, k = float64(q), float64(k)
    mask = sliding_window_mask(n=q.shape[-2], m=k.shape[-2], window=window, is_causal=is_causal)
    return scaled_dot_product_attention_vjp(cotangent, q, k, v, mask, scale=scale)[:3]
