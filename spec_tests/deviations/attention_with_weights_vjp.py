"""What goes wrong with the gradients of attention that returns its weights."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.attention_with_weights import attention_with_weights
from reference_numpy.attention_with_weights_vjp import attention_with_weights_vjp

from . import deviation


@deviation("reference", "one_weight_among_others")
def cotangent_of_weights_ignored(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    """the cotangent of the weights is ignored, as where they are returned detached.

    Shows: a loss that contains the weights. Hides: a loss of out alone.
    """
    c, w = cotangent
    return attention_with_weights_vjp((c, None if w is None else 0.0 * float64(w)), q, k, v, mask, **options)


@deviation("reference", "one_weight_among_others")
def cotangent_of_weights_added_twice(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    """the cotangent of the weights is added twice.

    Shows: a loss that contains the weights. Hides: a loss of out alone.
    """
    c, w = cotangent
    return attention_with_weights_vjp((c, None if w is None else 2.0 * float64(w)), q, k, v, mask, **options)


@deviation("reference", "weights_alone")
def inner_sum_of_weights_missing(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, *, scale: Any = None, **options: Any
) -> Any:
    """the gradient of the scores lacks the inner sum of the weights' cotangent: p w in place of p (w − Σ p w).

    Shows: a loss that contains the weights. Hides: a loss of out alone.
    """
    dq, dk, dv, _ = attention_with_weights_vjp(cotangent, q, k, v, mask, scale=scale, **options)
    if cotangent[1] is None:
        return dq, dk, dv, None
    _, p = attention_with_weights(q, k, v, mask, scale=scale, **options)
    left = p * np.sum(p * float64(cotangent[1]), axis=-1, keepdims=True)
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    more_q, more_k = np.matmul(left, float64(k)) * scale, np.matmul(np.swapaxes(left, -1, -2), float64(q)) * scale
    return dq + more_q, dk + more_k, dv, None
