"""What goes wrong with the biases of mixture_of_experts, and with the gate of gpt-oss."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.mixture_of_experts import mixture_of_experts

from . import deviation


@deviation("experts_have_biases_and_gates")
def router_bias_missing(x: Any, router: Any, w1: Any, w2: Any, w3: Any, b_router: Any = None, **options: Any) -> Any:
    """the router's bias is not added.

    Shows: b_router. Hides: none; equal biases.
    """
    return mixture_of_experts(x, router, w1, w2, w3, **options)


@deviation("experts_have_biases_and_gates")
def output_bias_not_weighted(x: Any, router: Any, w1: Any, w2: Any, w3: Any, b2: Any = None, **options: Any) -> Any:
    """the output biases of all experts are added once, without the router's weights.

    Shows: b2. Hides: none; one expert.
    """
    y = mixture_of_experts(x, router, w1, w2, w3, **options)
    return y if b2 is None else y + np.sum(float64(b2), axis=0)


@deviation("experts_have_biases_and_gates")
def hidden_biases_exchanged(
    x: Any, router: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b3: Any = None, **options: Any
) -> Any:
    """the gate has b3, and what is gated has b1, as where a fused bias is split in the other order.

    Shows: b1 or b3. Hides: neither; equal ones.
    """
    return mixture_of_experts(x, router, w1, w2, w3, **{**options, "b1": b3, "b3": b1})


@deviation("experts_have_biases_and_gates")
def offset_dropped(x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, offset: float = 0.0, **options: Any) -> Any:
    """nothing is added to what is gated, where gpt-oss adds 1.

    Shows: an offset. Hides: 0.
    """
    return mixture_of_experts(x, router, w1, w2, w3, **options)


@deviation("experts_have_biases_and_gates")
def alpha_dropped(x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, alpha: float = 1.0, **options: Any) -> Any:
    """the gate is SiLU itself, where gpt-oss multiplies by 1.702 within.

    Shows: alpha other than 1. Hides: 1.
    """
    return mixture_of_experts(x, router, w1, w2, w3, **options)


@deviation("experts_have_biases_and_gates")
def limit_dropped(x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, limit: float | None = None, **options: Any) -> Any:
    """nothing is clipped.

    Shows: hidden values beyond the limit. Hides: small ones; no limit.
    """
    return mixture_of_experts(x, router, w1, w2, w3, **options)
