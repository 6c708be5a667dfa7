from typing import Any

import numpy as np

from ._heads import capped_scores, repeated_heads, seen_keys, with_sinks
from ._marks import either, float64, in_bits, rounded, wide, widened
from .logsumexp import logsumexp
from .softmax import softmax


def attention_with_lse(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    sinks: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    softcap: float | None = None,
    left_window: int | None = None,
    right_window: int | None = None,
) -> Any:
    """Grouped-query attention that also returns the logarithm of the softmax's denominator.

        out = p v,   p = exp(s - lse),   lse = log(sum over keys of exp(s) + exp(sink)),   s = c tanh(q k^T * scale / c)

    Shapes
        q (..., h, n, d_k),  k (..., h_kv, m, d_k),  v (..., h_kv, m, d_v),  mask broadcastable to (..., h, n, m),
        sinks (h)  ->  out (..., h, n, d_v),  lse (..., h, n)
    Dtypes
        out as the arguments; lse as the arguments, or float32 or wider
    Units
        Scores, sinks and lse in nats.
    Domain
        As in grouped_query_attention; softcap > 0; windows >= 0; sinks finite or -inf.
    Edges
        A query that sees no key has lse = -inf and no weights: NaN here. With a finite sink its out is 0 and its lse
        the sink. With one key and no sink out is the value and lse the score. lse has the dtype of q or a wider one.

    Raises
        ValueError where h_kv does not divide h, or where is_causal or a window is given and n is not m.
    Choices
        The query at position p sees the keys p - left_window ... p + right_window, itself not counted, as in
        FlashAttention and ONNX. Mask, causality and window must all allow a key. Scores are capped before they are
        masked. A sink is neither scaled nor capped, and enters the denominator once. Libraries also return lse to the
        base 2 (FlashInfer): the convention lse_base.
    Source
        Dao et al. 2022, arXiv:2205.14135, section 3.1 (lse). Xiao et al. 2023, arXiv:2309.17453, section 3.2 (sinks).
        Gemma Team 2024, arXiv:2408.00118, section 2 (softcap).

    Two keys with the scores 0 and log(3), and a sink of log(4) that takes half of the weight:

    >>> out, lse = attention_with_lse([[[1.0]]], [[[0.0], [np.log(3.0)]]], [[[0.0], [8.0]]], sinks=[np.log(4.0)])
    >>> out, lse.round(4)
    (array([[[3.]]]), array([[2.0794]]))
    """
    q = float64(q)
    k, v = repeated_heads("attention_with_lse", q, float64(k), float64(v))
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    seen = seen_keys("attention_with_lse", q.shape[-2], k.shape[-2], mask, is_causal, left_window, right_window)
    scores = with_sinks(capped_scores(q, k, seen, scale, softcap), sinks)
    p = rounded(either(softmax(scores, axis=-1), _weights_from_lse(wide(scores))))
    return np.matmul(p[..., : k.shape[-2]], v), logsumexp(in_bits(widened(scores)), axis=-1)


def _weights_from_lse(scores: Any) -> Any:
    """Return exp(s - lse), with an lse that is kept in float32 or wider, whose rounding grows with the size of the scores."""
    lse = np.expand_dims(logsumexp(scores, axis=-1), axis=-1)
    with np.errstate(invalid="ignore"):  # a query that sees no key has no weights: -inf - (-inf) = NaN
        return np.exp(scores - lse)
