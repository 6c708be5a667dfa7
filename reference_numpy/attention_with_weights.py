from typing import Any

import numpy as np

from ._marks import float64, rounded
from .scaled_dot_product_attention import _scores
from .softmax import softmax


def attention_with_weights(
    q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None
) -> Any:
    """Attention that also returns the weights with which it averages the values.

        out = p v,   weights = p = softmax over keys of q k^T * scale,   -inf in place of a score where mask is False

    Shapes
        q (..., n, d_k),  k (..., m, d_k),  v (..., m, d_v),  mask broadcastable to (..., n, m)
        ->  out (..., n, d_v),  weights (..., n, m) with the batch axes of q, k and mask
    Dtypes
        out and weights as the arguments
    Units
        Scores in nats.
    Domain
        As in scaled_dot_product_attention.
    Edges
        A masked key has a weight of exactly 0. One key has the weight 1. A query that sees no key has no weights: NaN.

    Raises
        ValueError where is_causal is given and n is not m.
    Choices
        The weights are those after the softmax, as in the exercise and in PyTorch's MultiheadAttention, not the scores.
        They have the dtype of q. PyTorch averages them over heads unless told otherwise; here each head has its own.
    Source
        Vaswani et al. 2017, arXiv:1706.03762, eq. 1. Exercise 1, whose function returns both.

    >>> out, weights = attention_with_weights([[1.0]], [[0.0], [np.log(3.0)]], [[0.0], [8.0]])
    >>> out.round(4), weights.round(4)
    (array([[6.]]), array([[0.25, 0.75]]))
    """
    q, k, v = float64(q), float64(k), float64(v)
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    p = softmax(_scores(q, k, mask, None, is_causal, scale), axis=-1)
    return np.matmul(rounded(p), v), p
