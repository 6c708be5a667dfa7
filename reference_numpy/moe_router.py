from typing import Any

import numpy as np

from ._choice import in_top_groups, largest
from ._expert_weights import weigh
from ._marks import float64, widened
from .sigmoid import sigmoid
from .softmax import softmax


def moe_router(
    logits: Any,
    bias: Any = None,
    *,
    k: int,
    scoring: str = "softmax",
    renormalize: bool = True,
    scaling_factor: float = 1.0,
    groups: int = 1,
    top_groups: int = 1,
    group_score: str | None = None,
) -> Any:
    """Router of a mixture of experts: the k experts of each token, and the weight of each.

        s = softmax(logits) or sigmoid(logits),   I = the k largest of s + bias
        w_i = scaling_factor * s_i / sum of s_j over j in I,   or scaling_factor * s_i without renormalize

    Groups are runs of equally many experts. Only experts of the top_groups groups with the largest group scores are chosen.

    Shapes
        logits (..., experts),  bias (experts)  ->  weights (..., k),  indices (..., k) integers
    Dtypes
        weights as the arguments, or float32 or wider; indices integers
    Domain
        logits and bias finite; experts a multiple of groups; k at most the number of experts in top_groups groups; where sigmoid
        scores are renormalized, logits >= -20.
    Edges
        The results are a set of experts with their weights: their order says nothing. Here indices ascend. Where the scores of
        two experts lie within their error bounds of each other, either may be chosen. k = experts chooses all. One renormalized
        expert has the weight scaling_factor. The weights have the dtype of the logits, or a wider one.

    Raises
        ValueError where scoring or group_score is unknown.
    Choices
        The bias takes part in the choice alone: weights are scores without it (DeepSeek-V3). A group's score is the sum of its
        two largest s + bias ("two", the default with a bias) or the largest ("max", the default without). Experts of other
        groups are out, whatever their scores; code that gives them a score of 0 chooses them where biases are negative.
        The softmax is over all experts. Nothing is added to the sum that divides.
    Source
        Shazeer et al. 2017, arXiv:1701.06538. Jiang et al. 2024, arXiv:2401.04088, section 2.1 (Mixtral). DeepSeek-AI 2024,
        arXiv:2412.19437, eqs. 13 to 16 (sigmoid, bias, groups).

    The bias brings the second expert in, whose weight does not show it:

    >>> weights, indices = moe_router([[2.0, 0.0, 1.0]], k=2)
    >>> weights.round(4), indices
    (array([[0.7311, 0.2689]]), array([[0, 2]]))
    >>> weights, indices = moe_router([[2.0, 0.0, 1.0]], [0.0, 5.0, 0.0], k=1, renormalize=False)
    >>> weights.round(4), indices
    (array([[0.09]]), array([[1]]))
    """
    if scoring not in ("softmax", "sigmoid"):
        raise ValueError(f"moe_router: scoring={scoring!r} is unknown; there are 'softmax' and 'sigmoid'.")
    if group_score not in (None, "two", "max"):
        raise ValueError(f"moe_router: group_score={group_score!r} is unknown; there are 'two' and 'max'.")
    z = widened(float64(logits))
    scores = softmax(z, axis=-1) if scoring == "softmax" else sigmoid(z)
    choice = scores if bias is None else scores + float64(bias)
    if groups > 1:
        rule = group_score or ("max" if bias is None else "two")
        kept = in_top_groups(choice, groups=groups, top_groups=top_groups, group_score=rule)
        choice = np.where(kept, choice, -np.inf)
    indices = largest(choice, k)
    return weigh(scores, indices, renormalize=renormalize, scaling_factor=scaling_factor), indices
