from typing import Any

import numpy as np

from ._choice import chosen_by
from ._expert_weights import weigh
from ._marks import float64, piled, rounded
from ._sums import rows
from .linear import linear
from .softmax import softmax
from .swiglu import swiglu


def mixture_of_experts(x: Any, router: Any, w1: Any, w2: Any, w3: Any, *, k: int, renormalize: bool = True) -> Any:
    """Mixture of experts: each token's feed-forward network is the weighted sum of the k that its router chooses.

        s = softmax(router x),   I = the k largest of s,   w_e = s_e / sum of s_j over j in I,   or s_e without renormalize
        y = sum of w_e swiglu(x; w1_e, w2_e, w3_e) over e in I

    Shapes
        x (..., d),  router (experts, d),  w1 (experts, h, d),  w2 (experts, d, h),  w3 (experts, h, d)  ->  (..., d)
    Domain
        All finite; 1 <= k <= experts.
    Edges
        One expert is swiglu, times its weight 1. Equal experts are one, times the sum of the weights. k = experts is the weighted
        sum of all. An expert that no token chooses does not show, NaN included. Where the scores of two experts lie within
        their error bounds of each other, either may be chosen. The logits may be rounded to the dtype of x.
    Choices
        The weight multiplies the expert's output, not its input. No expert has a capacity: no token is dropped.
        Mixtral renormalizes; Qwen2-MoE and OLMoE do not. No shared expert, and no biases.
    Source
        Shazeer et al. 2017, arXiv:1701.06538, eq. 1. Jiang et al. 2024, arXiv:2401.04088, section 2.1 (Mixtral).

    Two experts, of which the first is chosen, then both:

    >>> x, w = [[1.0]], [[[1.0]], [[2.0]]]
    >>> mixture_of_experts(x, [[3.0], [1.0]], w, w, w, k=1).round(4)
    array([[0.7311]])
    >>> mixture_of_experts(x, [[3.0], [1.0]], w, w, w, k=2).round(4)
    array([[1.4839]])
    """
    x, router, w1, w2, w3 = (float64(a) for a in (x, router, w1, w2, w3))
    tokens = rows(x)
    scores = softmax(rounded(linear(tokens, router)), axis=-1)
    indices = chosen_by(scores, k, x.shape[:-1])
    weights = rounded(weigh(scores, indices, renormalize=renormalize, scaling_factor=1.0))
    outputs = np.stack([rounded(swiglu(tokens, w1[e], w2[e], w3[e])) for e in range(router.shape[0])], axis=0)
    each = np.arange(indices.shape[0])
    terms = [rounded(weights[:, j : j + 1] * outputs[indices[:, j], each]) for j in range(k)]
    return np.reshape(piled(np.stack(terms, axis=0), axis=0), x.shape)
