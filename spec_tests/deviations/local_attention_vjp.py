"""What goes wrong with the gradients of local attention: the window on the way back."""

from typing import Any

from reference_numpy.local_attention_vjp import local_attention_vjp
from reference_numpy.scaled_dot_product_attention_vjp import scaled_dot_product_attention_vjp

from . import deviation


@deviation("reference", "outside_the_window")
def window_forgotten(
    cotangent: Any, q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None
) -> Any:
    """the weights are recomputed without the window.

    Shows: more keys than the window holds. Hides: a wide window.
    """
    causal = is_causal and q.shape[-2] == k.shape[-2]
    return scaled_dot_product_attention_vjp(cotangent, q, k, v, is_causal=causal, scale=scale)[:3]


@deviation("reference", "outside_the_window")
def window_of_one_more(cotangent: Any, q: Any, k: Any, v: Any, *, window: int, **options: Any) -> Any:
    """the window is wider by one on the way back.

    Shows: more keys than the window holds. Hides: a wide window.
    """
    return local_attention_vjp(cotangent, q, k, v, window=window + 1, **options)


@deviation("reference")
def causality_forgotten(cotangent: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    """the weights are recomputed without causality.

    Shows: is_causal and a window of 1 or more. Hides: is_causal = False.
    """
    return local_attention_vjp(cotangent, q, k, v, **{**options, "is_causal": False})
