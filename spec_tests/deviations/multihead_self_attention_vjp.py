"""What goes wrong with the gradients of multi-head self-attention: which paths they take."""

from typing import Any

import numpy as np

from reference_numpy.multihead_self_attention_vjp import multihead_self_attention_vjp
from reference_numpy.rms_norm_vjp import rms_norm_vjp
from spec_tests.specification.composition import substitute

from . import deviation


@deviation("reference")
def queries_and_keys_exchanged(
    cotangent: Any, x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, positions: Any = None, **options: Any
) -> Any:
    """the gradients of w_q and w_k are exchanged, where they have the same shape.

    Shows: as many key heads as query heads, two tokens or more. Hides: shared heads.
    """
    dx, dw_q, dw_k, *others = multihead_self_attention_vjp(cotangent, x, w_q, w_k, w_v, w_o, positions, **options)
    return (dx, dw_k, dw_q, *others) if dw_q.shape == dw_k.shape else (dx, dw_q, dw_k, *others)


@deviation("reference", "causal")
def causality_forgotten(
    cotangent: Any, x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, positions: Any = None, **options: Any
) -> Any:
    """the weights are recomputed without causality.

    Shows: two tokens or more. Hides: is_causal = False.
    """
    return multihead_self_attention_vjp(cotangent, x, w_q, w_k, w_v, w_o, positions, **{**options, "is_causal": False})


@deviation("reference")
def positions_forgotten(
    cotangent: Any, x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, positions: Any = None, **options: Any
) -> Any:
    """the backward pass uses the positions 0, 1, 2, ….

    Shows: RoPE with other positions that are not one distance apart. Hides: consecutive ones.
    """
    return multihead_self_attention_vjp(cotangent, x, w_q, w_k, w_v, w_o, None, **options)


@deviation("reference", "output_bias_gains_the_sum")
def output_bias_gradient_averaged(
    cotangent: Any, x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, positions: Any = None, **options: Any
) -> Any:
    """the gradient of b_o is the mean over the tokens, not the sum.

    Shows: b_o and two tokens or more. Hides: one token.
    """
    gradients = list(multihead_self_attention_vjp(cotangent, x, w_q, w_k, w_v, w_o, positions, **options))
    if gradients[9] is not None:
        gradients[9] = gradients[9] / float(max(np.prod(x.shape[:-1]), 1))
    return tuple(gradients)


@deviation("reference")
def norms_not_differentiated(
    cotangent: Any, x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, positions: Any = None, **options: Any
) -> Any:
    """the mean squares of normed queries and keys are treated as constants.

    Shows: a norm, two tokens or more. Hides: no norm; the forward result.
    """

    def gain_alone(c: Any, x: Any, weight: Any, *, eps: Any) -> Any:
        root = np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + eps)
        return c * weight / root, rms_norm_vjp(c, x, weight, eps=eps)[1]

    with substitute("rms_norm_vjp", gain_alone):
        return multihead_self_attention_vjp(cotangent, x, w_q, w_k, w_v, w_o, positions, **options)
