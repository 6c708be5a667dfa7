from typing import Any

import numpy as np

from ._choice import chosen_by
from ._expert_weights import weigh
from ._gated_network import gated_network, gating
from ._marks import float64, piled, rounded
from ._sums import rows
from .linear import linear
from .softmax import softmax


def mixture_of_experts(
    x: Any,
    router: Any,
    w1: Any,
    w2: Any,
    w3: Any,
    b_router: Any = None,
    b1: Any = None,
    b2: Any = None,
    b3: Any = None,
    *,
    k: int,
    renormalize: bool = True,
    activation: str = "silu",
    limit: float | None = None,
    alpha: float = 1.0,
    offset: float = 0.0,
) -> Any:
    """Mixture of experts: each token's feed-forward network is the weighted sum of the k that its router chooses.

        s = softmax(router x + b_router),   I = the k largest of s,   w_e = s_e / sum of s_j over j in I
        y = sum of w_e E_e(x) over e in I,   E_e(x) = w2_e gated_activation of (w1_e x + b1_e, w3_e x + b3_e), + b2_e

    By default E_e is swiglu. Without renormalize w_e = s_e.

    Shapes
        x (..., d),  router (experts, d),  w1 (experts, h, d),  w2 (experts, d, h),  w3 (experts, h, d),
        b_router (experts),  b1 (experts, h),  b2 (experts, d),  b3 (experts, h)  ->  (..., d)
    Dtypes
        as the arguments
    Domain
        All finite; 1 <= k <= experts; limit >= 0; alpha > 0, and 1 unless the activation is silu.
    Edges
        One expert is swiglu, times its weight 1. Equal experts are one, times the sum of the weights. k = experts is the weighted
        sum of all. An expert that no token chooses does not show, NaN included. Where the scores of two experts lie within
        their error bounds of each other, either may be chosen. The logits may be rounded to the dtype of x.
    Choices
        The weight multiplies the expert's output, not its input. No expert has a capacity: no token is dropped.
        Mixtral renormalizes; Qwen2-MoE and OLMoE do not. No shared expert. The router's bias is part of the logits, so that it
        weighs, unlike the bias of moe_router. Each bias may be given alone. The keywords of the gate are those of
        gated_activation; gpt-oss has all biases, and limit = 7, alpha = 1.702, offset = 1.
    Source
        Shazeer et al. 2017, arXiv:1701.06538, eq. 1. Jiang et al. 2024, arXiv:2401.04088, section 2.1 (Mixtral).
        OpenAI 2025, gpt-oss model card, arXiv:2508.10925.

    Two experts, of which the first is chosen, then both:

    >>> x, w = [[1.0]], [[[1.0]], [[2.0]]]
    >>> mixture_of_experts(x, [[3.0], [1.0]], w, w, w, k=1).round(4)
    array([[0.7311]])
    >>> mixture_of_experts(x, [[3.0], [1.0]], w, w, w, k=2).round(4)
    array([[1.4839]])
    """
    x, router = float64(x), float64(router)
    tokens = rows(x)
    scores = softmax(rounded(linear(tokens, router, b_router)), axis=-1)
    indices = chosen_by(scores, k, x.shape[:-1])
    weights = rounded(weigh(scores, indices, renormalize=renormalize, scaling_factor=1.0))
    gate, of_expert = gating(activation, limit, alpha, offset), _select(w1, w2, w3, b1, b2, b3)
    outputs = np.stack([rounded(gated_network(tokens, *of_expert(e), **gate)) for e in range(router.shape[0])], axis=0)
    each = np.arange(indices.shape[0])
    terms = [rounded(weights[:, j : j + 1] * outputs[indices[:, j], each]) for j in range(k)]
    return np.reshape(piled(np.stack(terms, axis=0), axis=0), x.shape)


def _select(*stacks: Any) -> Any:
    """Return a function that returns the weights of an expert. Biases that are not given are None."""
    stacks = tuple(None if a is None else float64(a) for a in stacks)
    return lambda e: [None if a is None else a[e] for a in stacks]
