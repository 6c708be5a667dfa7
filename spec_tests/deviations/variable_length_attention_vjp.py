"""What goes wrong with the gradients of packed attention."""

from typing import Any

import numpy as np

from reference_numpy.variable_length_attention_vjp import variable_length_attention_vjp

from . import deviation
from .variable_length_attention import LEAKS


@deviation("reference")
def causality_lost_on_the_way_back(
    cotangent: Any, q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, sinks: Any = None, **options: Any
) -> Any:
    """the backward pass has no causality: the gradients are those of attention to all keys of a member.

    Shows: is_causal = True. Hides: the default; the forward result.
    """
    without = {**options, "is_causal": False}
    return variable_length_attention_vjp(cotangent, q, k, v, cu_seqlens_q, cu_seqlens_k, sinks, **without)


@deviation("reference", "members_do_not_leak", "packed_is_separate", seen=LEAKS)
def members_lost_on_the_way_back(
    cotangent: Any, q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, sinks: Any = None, **options: Any
) -> Any:
    """without causality and windows the backward pass treats the members as one long sequence.

    Shows: two members with keys. Hides: a single member; causality; the forward result.
    """
    hides = options.get("is_causal") or any(options.get(name) is not None for name in ("left_window", "right_window"))
    if not hides:
        cu_seqlens_q, cu_seqlens_k = (np.array([0, x.shape[0]]) for x in (q, k))
    return variable_length_attention_vjp(cotangent, q, k, v, cu_seqlens_q, cu_seqlens_k, sinks, **options)
