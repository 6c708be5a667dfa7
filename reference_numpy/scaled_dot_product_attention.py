from typing import Any

import numpy as np

from ._marks import eager, float64, rounded
from .causal_mask import causal_mask
from .softmax import softmax


def scaled_dot_product_attention(
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
    """Attention: each query's mean of the values, weighted by how well the query matches the keys.

        y = p v,   p = softmax over keys of (q k^T * scale + bias),   -inf in place of a score where mask is False

    Shapes
        q (..., n, d_k),  k (..., m, d_k),  v (..., m, d_v),  mask and bias broadcastable to (..., n, m)
        ->  (..., n, d_v).  q, k and v have the same batch axes; here they also broadcast, which no caller may rely on.
    Dtypes
        as the arguments
    Units
        Scores in nats.
    Domain
        q, k, v finite; bias < +inf; each query attends to at least one key.
    Edges
        A masked key has a weight of exactly 0, which its value still multiplies: NaN or inf there shows. One
        key gives its value. A query that attends to no key has no softmax: NaN here.

    Raises
        ValueError where is_causal is given and n is not m, and where softcap and bias are given together.
    Choices
        True in the mask means "attends". mask and is_causal both hold (PyTorch refuses the pair). The default
        scale is 1 / sqrt(d_k), the width of a query. The bias is added to the scaled scores. With a softcap c the
        scaled scores are c tanh(score / c), before any mask; whether a bias is capped as well is the
        convention softcap_bias.
        There is no second result: v = identity gives the attention weights, which attention_with_weights returns.
    Source
        Vaswani et al. 2017, arXiv:1706.03762, eq. 1. CS336 assignment 1, eq. (11). Exercise 1.

    The weights themselves, by v = identity; the mask takes the last key away:

    >>> scaled_dot_product_attention([[1.0]], [[0.0], [np.log(3.0)], [9.0]], np.eye(3), [[True, True, False]]).round(4)
    array([[0.25, 0.75, 0.  ]])

    """
    q, k, v = float64(q), float64(k), float64(v)
    if scale is None:
        scale = 1 / np.sqrt(q.shape[-1])
    return np.matmul(_weights(q, k, mask, bias, is_causal, scale, softcap), v)


def _weights(q: Any, k: Any, mask: Any, bias: Any, is_causal: bool, scale: Any, softcap: Any = None) -> Any:
    return rounded(softmax(_scores(q, k, mask, bias, is_causal, scale, softcap), axis=-1))


def _scores(q: Any, k: Any, mask: Any, bias: Any, is_causal: bool, scale: Any, softcap: Any = None) -> Any:
    n, m = q.shape[-2], k.shape[-2]
    if is_causal and n != m:
        raise ValueError(
            f"scaled_dot_product_attention: is_causal is defined here for n = m; build a mask with causal_mask"
            f" (n = {n}, m = {m})."
        )
    if is_causal:
        mask = causal_mask(n=n) if mask is None else np.logical_and(mask, causal_mask(n=n))
    scores = np.matmul(eager(q), np.swapaxes(eager(k), -1, -2)) * scale
    if softcap is not None and bias is not None:
        raise ValueError("scaled_dot_product_attention: it is not specified whether a softcap applies to a bias as well.")
    if softcap is not None:
        scores = np.tanh(scores / softcap) * softcap
    if bias is not None:
        scores = scores + float64(bias)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return scores
