"""What goes wrong with the gradients of multi-head self-attention: which paths they take."""

from typing import Any

from reference_numpy.multihead_self_attention_vjp import multihead_self_attention_vjp

from . import deviation


@deviation("reference")
def queries_and_keys_exchanged(
    cotangent: Any,
    x: Any,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    w_o: Any,
    positions: Any = None,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    is_causal: bool = True,
    theta: float | None = None,
    layout: str = "interleaved",
) -> Any:
    """the gradients of w_q and w_k are exchanged, where they have the same shape.

    Shows: as many key heads as query heads, two tokens or more. Hides: shared heads.
    """
    heads: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "is_causal": is_causal}
    dx, dw_q, dw_k, *others = multihead_self_attention_vjp(
        cotangent, x, w_q, w_k, w_v, w_o, positions, theta=theta, layout=layout, **heads
    )
    return (dx, dw_k, dw_q, *others) if dw_q.shape == dw_k.shape else (dx, dw_q, dw_k, *others)


@deviation("reference", "causal")
def causality_forgotten(
    cotangent: Any,
    x: Any,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    w_o: Any,
    positions: Any = None,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    is_causal: bool = True,
    theta: float | None = None,
    layout: str = "interleaved",
) -> Any:
    """the weights are recomputed without causality.

    Shows: two tokens or more. Hides: is_causal = False.
    """
    heads: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "is_causal": False}
    return multihead_self_attention_vjp(cotangent, x, w_q, w_k, w_v, w_o, positions, theta=theta, layout=layout, **heads)


@deviation("reference")
def positions_forgotten(
    cotangent: Any,
    x: Any,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    w_o: Any,
    positions: Any = None,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    is_causal: bool = True,
    theta: float | None = None,
    layout: str = "interleaved",
) -> Any:
    """the positions are taken to be 0, 1, 2, … on the way back.

    Shows: RoPE with other positions that are not one distance apart. Hides: consecutive ones.
    """
    heads: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "is_causal": is_causal}
    return multihead_self_attention_vjp(cotangent, x, w_q, w_k, w_v, w_o, None, theta=theta, layout=layout, **heads)
