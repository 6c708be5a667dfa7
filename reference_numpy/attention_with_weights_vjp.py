from typing import Any

import numpy as np

from ._marks import eager, float64, recomputed, rounded, through_maximum, through_quotient, wide
from ._sums import product_summed_to
from .scaled_dot_product_attention import _scores
from .softmax import softmax


def attention_with_weights_vjp(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None
) -> Any:
    """Gradients of attention that returns its weights p, with the cotangents c of out and w of the weights:

        dv = p^T c,   a = c v^T + w,   ds_ij = p_ij (a_ij - sum_j(p_ij a_ij)),   dq = ds k * scale,   dk = ds^T q * scale

    Shapes
        cotangent: c (..., n, d_v) or None, w (..., n, m) or None;  q (..., n, d_k),  k (..., m, d_k),  v (..., m, d_v),
        mask broadcastable to (..., n, m)  ->  (dq, dk, dv, None), each as its argument. What was broadcast gathers the sum.
    Dtypes
        as the arguments
    Domain
        As in attention_with_weights; cotangents finite.
    Edges
        A key that no query sees gets exactly 0. A result whose cotangent is None counts as one whose cotangent is 0.

    Raises
        ValueError as attention_with_weights does.
    Source
        Dao et al. 2022, arXiv:2205.14135, appendix B.2, with a cotangent of P itself.

    The cotangent of the first of two weights, 1/4 and 3/4:

    >>> attention_with_weights_vjp((None, [[1.0, 0.0]]), [[1.0]], [[0.0], [np.log(3.0)]], [[5.0], [7.0]])[1]
    array([[ 0.1875],
           [-0.1875]])
    """
    q, k, v = float64(q), float64(k), float64(v)
    c, w = (None if x is None else float64(x) for x in cotangent)
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale

    def scores(q: Any, k: Any, scale: Any) -> Any:
        return _scores(q, k, mask, None, is_causal, scale)

    p = rounded(softmax(scores(q, k, scale), axis=-1))
    again = recomputed(scores, q, k, scale, axis=-1)
    if c is None:
        dv, a, inner = 0.0 * v, w, np.sum(p * w, axis=-1, keepdims=True)
    else:
        divided = eager(c)
        dv = rounded(product_summed_to(np.swapaxes(wide(p) * again, -1, -2), divided, v.shape))
        a = rounded(np.matmul(divided, np.swapaxes(v, -1, -2)))
        inner = np.sum(c * rounded(np.matmul(p, v)), axis=-1, keepdims=True)
        if w is not None:
            a, inner = rounded(a + w), inner + np.sum(p * w, axis=-1, keepdims=True)
    ds = wide(p * through_quotient(a) - p * through_quotient(inner)) * again
    ds = rounded(through_maximum(ds, np.sum(ds, axis=-1, keepdims=True), p, axis=-1))
    dq = rounded(product_summed_to(ds, eager(k), q.shape, scale))
    dk = rounded(product_summed_to(np.swapaxes(ds, -1, -2), eager(q), k.shape, scale))
    return dq, dk, dv, None
