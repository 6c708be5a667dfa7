"""What goes wrong with the gradients of multi-head self-attention: which paths they take."""

from typing import Any

from reference_numpy.multihead_self_attention_vjp import multihead_self_attention_vjp

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
    """the positions are taken to be 0, 1, 2, … on the way back.

    Shows: RoPE with other positions that are not one distance apart. Hides: consecutive ones.
    """
    return multihead_self_attention_vjp(cotangent, x, w_q, w_k, w_v, w_o, None, **options)
