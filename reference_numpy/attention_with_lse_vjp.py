from typing import Any

import numpy as np

from ._heads import capped_scores, repeated_heads, seen_keys, with_sinks
from ._marks import eager, float64, recomputed, rounded, through_maximum, through_quotient, wide
from ._sums import product_summed_to, summed_to
from .softmax import softmax


def attention_with_lse_vjp(
    cotangent: Any,
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
    """Gradients of attention that returns lse, with the cotangents c of out and g of lse:

        dv = p^T c,   ds = p (c v^T - sum_d(c y) + g),   dt = ds (1 - tanh(t / softcap)^2) for the scaled scores t,
        dq = dt k * scale,   dk = dt^T q * scale,   dsink = sum over queries of p_sink (g - sum_d(c y))

    Shapes
        cotangent: c (..., h, n, d_v) or None, g (..., h, n) or None;  q (..., h, n, d_k),  k (..., h_kv, m, d_k),
        v (..., h_kv, m, d_v),  mask broadcastable to (..., h, n, m),  sinks (h)
        ->  (dq, dk, dv, None, dsinks), each as its argument
    Dtypes
        as the arguments
    Domain
        As in attention_with_lse; each query sees a key or has a finite sink; cotangents finite.
    Edges
        A key that no query sees gets exactly 0. A result whose cotangent is None counts as one whose cotangent is 0.

    Raises
        ValueError as attention_with_lse does.
    Choices
        As in scaled_dot_product_attention_vjp. The cotangent of lse is added to the inner difference.
    Source
        Dao et al. 2022, arXiv:2205.14135, appendix B.2, with the derivative of lse.

    The cotangent of lse alone: lse grows with each score as the weights say.

    >>> one, keys = [[[1.0]]], [[[0.0], [np.log(3.0)]]]
    >>> dq, dk, dv, _, _ = attention_with_lse_vjp((None, [[1.0]]), one, keys, [[[5.0], [7.0]]])
    >>> dk.round(4), dv
    (array([[[0.25],
            [0.75]]]), array([[[0.],
            [0.]]]))
    """
    q, k, v = float64(q), float64(k), float64(v)
    shared = k, v
    k, v = repeated_heads("attention_with_lse_vjp", q, k, v)
    m = k.shape[-2]
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    seen = seen_keys("attention_with_lse_vjp", q.shape[-2], m, mask, is_causal, left_window, right_window)

    def scores(q: Any, k: Any, sinks: Any, scale: Any, softcap: Any) -> Any:
        return with_sinks(capped_scores(q, k, seen, scale, softcap), sinks)

    operands = q, k, sinks, scale, softcap
    p = rounded(softmax(scores(*operands), axis=-1))
    again = recomputed(scores, *operands, axis=-1)
    again_keys, again_sink = (again, again) if isinstance(again, float) else (again[..., :m], again[..., -1:])
    of_keys, of_sink = _through_weights(cotangent, p, v)
    ds = rounded(of_keys * again_keys)
    if softcap is not None:
        t = np.tanh(capped_scores(q, k, None, scale, None) / softcap)
        ds = rounded(ds * (1 - np.square(t)))
    dq = rounded(product_summed_to(ds, eager(k), q.shape, scale))
    dk = rounded(_of_shared_heads(np.swapaxes(ds, -1, -2), eager(q), shared[0].shape, scale))
    c, dsinks = cotangent[0], None
    if c is None:
        dv = 0.0 * shared[1]
    else:
        dv = rounded(_of_shared_heads(np.swapaxes(wide(p[..., :m]) * again_keys, -1, -2), eager(float64(c)), shared[1].shape))
    if sinks is not None:
        dsinks = np.reshape(summed_to(rounded(of_sink * again_sink), (q.shape[-3], 1, 1)), (q.shape[-3],))
    return dq, dk, dv, None, dsinks


def _through_weights(cotangent: Any, p: Any, v: Any) -> tuple[Any, Any]:
    """Return the gradients of the scores and of the sink, for weights p whose last column may be that of the sink."""
    (c, g), m = (None if x is None else float64(x) for x in cotangent), v.shape[-2]
    of_keys, of_sink = 0.0, 0.0
    p_keys, p_sink = p[..., :m], p[..., m:]
    if c is not None:
        dp = rounded(np.matmul(eager(c), np.swapaxes(v, -1, -2)))  # c divided by the sum, where code divides after the product
        inner = np.sum(c * rounded(np.matmul(p_keys, v)), axis=-1, keepdims=True)
        of_keys = wide(p_keys * through_quotient(dp) - p_keys * through_quotient(inner))
        of_sink = wide(-p_sink * through_quotient(inner))
        left = np.sum(np.concatenate([of_keys, of_sink], axis=-1), axis=-1, keepdims=True)
        of_keys = through_maximum(of_keys, left, p_keys, axis=-1)
    if g is not None:
        g = np.expand_dims(g, axis=-1)
        left = np.sum(p, axis=-1, keepdims=True) * g - g
        of_keys = of_keys + through_maximum(wide(p_keys * g), left, p_keys, axis=-1)
        of_sink = of_sink + wide(p_sink * g)
    return of_keys, of_sink


def _of_shared_heads(a: Any, b: Any, shape: tuple[int, ...], scale: Any = None) -> Any:
    """Return scale a b, summed over the group of query heads that share a head of an array of this shape."""
    group = a.shape[-3] // shape[-3]
    a, b = (np.reshape(x, (*x.shape[:-3], shape[-3], group, *x.shape[-2:])) for x in (a, b))
    return np.reshape(product_summed_to(a, b, (*shape[:-2], 1, *shape[-2:]), scale), shape)
