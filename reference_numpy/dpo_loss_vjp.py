from typing import Any

import numpy as np

from ._marks import float64, logistic
from ._preferences import margin


def dpo_loss_vjp(
    cotangent: Any,
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """Gradient of dpo_loss: with the margin d, and c the share of the cotangent that a pair of answers gets,

        dpolicy_chosen = c beta (sigmoid(beta d) - (1 - e)),   dpolicy_rejected = -dpolicy_chosen,   e = label_smoothing

    c is the pair's cotangent (none), or the cotangent over the number of pairs (mean).

    Shapes
        cotangent () or (b),  policy_chosen (b),  policy_rejected (b),  reference_chosen (b),  reference_rejected (b)  ->
        (dpolicy_chosen, dpolicy_rejected, None, None)
    Dtypes
        as the arguments
    Domain
        As in dpo_loss; cotangents finite.
    Edges
        At d = 0 the gradient of the chosen answer is -c beta (1/2 - e). A large beta d gives 0 without smoothing.

    Raises
        ValueError as dpo_loss does.
    Choices
        The reference is a constant. sigmoid(beta d) - 1 and -sigmoid(-beta d) are the same number, and code may compute either,
        so that the error is relative to 1.
    Source
        Rafailov et al. 2023, arXiv:2305.18290, the gradient after eq. (7).

    >>> dpo_loss_vjp(1.0, [-3.0], [-7.0], [-3.5], [-7.5])[:2]
    (array([-0.05]), array([0.05]))
    """
    if reduction not in ("mean", "none"):
        raise ValueError(f"dpo_loss_vjp: reduction={reduction!r} is unknown; there are 'mean' and 'none'.")
    d = margin(policy_chosen, policy_rejected, reference_chosen, reference_rejected)
    c = float64(cotangent)
    share = c if reduction == "none" else c / np.float64(max(d.shape[0], 1))
    slope = share * (beta * (logistic(beta * d) - (1 - label_smoothing)))
    return slope, -slope, None, None
