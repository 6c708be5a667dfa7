from typing import Any

import numpy as np

from ._marks import eager, float64, recomputed, rounded, through_maximum, through_quotient, wide
from ._sums import product_summed_to, summed_to
from .scaled_dot_product_attention import _scores
from .softmax import softmax


def scaled_dot_product_attention_vjp(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    bias: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    softcap: float | None = None,
) -> Any:
    """Gradients of attention: with the cotangent c of y = p v, and p = softmax(s),   s = q k^T * scale + bias,

        dv = p^T c,   ds_ij = p_ij ((c v^T)_ij - sum_d(c_id y_id)),   dq = ds k * scale,   dk = ds^T q * scale,   dbias = ds

    Shapes
        cotangent (..., n, d_v),  q (..., n, d_k),  k (..., m, d_k),  v (..., m, d_v),  mask and bias broadcastable to
        (..., n, m)  ->  (dq, dk, dv, None, dbias), each as its argument; dbias is None without a bias. What was
        broadcast gathers the sum.
    Dtypes
        as the arguments
    Domain
        As in attention; cotangents finite.
    Edges
        A key that no query sees gets exactly 0, and so does one whose queries all have the cotangent 0. The rows of ds
        sum to 0. With a single key dq, dk and dbias are 0. scale = 0 leaves dq and dk 0.

    Raises
        ValueError as attention does.
    Choices
        p may be recomputed from q, k and the logsumexp of each row of s; large scores then cost digits. The inner sum
        may be that of c y, with y as stored, or of p (c v^T): the same number. The scale multiplies both dq and dk.
    Source
        Dao et al. 2022, arXiv:2205.14135, appendix B.2. Vaswani et al. 2017, arXiv:1706.03762, eq. 1, differentiated.

    Two keys with the weights 1/4 and 3/4:

    >>> dq, dk, dv, _, _ = scaled_dot_product_attention_vjp([[1.0]], [[1.0]], [[0.0], [np.log(3.0)]], [[0.0], [1.0]])
    >>> dq.round(4), dk.round(4), dv
    (array([[0.206]]), array([[-0.1875],
           [ 0.1875]]), array([[0.25],
           [0.75]]))
    """
    c, q, k, v = float64(cotangent), float64(q), float64(k), float64(v)
    if scale is None:
        scale = 1 / np.sqrt(q.shape[-1])

    def scores(q: Any, k: Any, bias: Any, scale: Any, softcap: Any) -> Any:
        return _scores(q, k, mask, bias, is_causal, scale, softcap)

    operands = q, k, bias, scale, softcap
    p = rounded(softmax(scores(*operands), axis=-1))
    again = recomputed(scores, *operands, axis=-1)
    divided = eager(c)  # by the sum of a row's exponentials, where that divides after the product with v
    dp = rounded(np.matmul(divided, np.swapaxes(v, -1, -2)))
    inner = np.sum(c * rounded(np.matmul(p, v)), axis=-1, keepdims=True)
    ds = wide(p * through_quotient(dp) - p * through_quotient(inner)) * again
    ds = rounded(through_maximum(ds, np.sum(ds, axis=-1, keepdims=True), p, axis=-1))
    if softcap is not None:  # the derivative of c tanh(t / c)
        ds = rounded(ds * (1 - np.square(np.tanh(_scores(q, k, None, None, False, scale) / softcap))))
    dq = rounded(product_summed_to(ds, eager(k), q.shape, scale))
    dk = rounded(product_summed_to(np.swapaxes(ds, -1, -2), eager(q), k.shape, scale))
    dv = rounded(product_summed_to(np.swapaxes(wide(p) * again, -1, -2), divided, v.shape))
    dbias = None if bias is None else summed_to(ds, float64(bias).shape)
    return dq, dk, dv, None, dbias
