"""What goes wrong with the gradients of packed attention."""

from typing import Any

from reference_numpy.variable_length_attention_vjp import variable_length_attention_vjp

from . import deviation


@deviation("reference")
def causality_lost_on_the_way_back(
    cotangent: Any, q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, sinks: Any = None, **options: Any
) -> Any:
    """the backward pass has no causality: the gradients are those of attention to all keys of a member.

    Shows: is_causal = True. Hides: the default; the forward result.
    """
    without = {**options, "is_causal": False}
    return variable_length_attention_vjp(cotangent, q, k, v, cu_seqlens_q, cu_seqlens_k, sinks, **without)
