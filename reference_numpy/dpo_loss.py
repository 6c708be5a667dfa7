from typing import Any

import numpy as np

from ._preferences import margin
from ._targets import is_zero


def dpo_loss(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """Loss of direct preference optimization: how surprising it is that the chosen answer was preferred to the rejected one.

        d = (policy_chosen - policy_rejected) - (reference_chosen - reference_rejected)
        l = -(1 - e) log(sigmoid(beta d)) - e log(sigmoid(-beta d)),   e = label_smoothing

    The arguments are the logarithms of the probabilities of whole answers, each a sum over the answer's tokens.

    Shapes
        policy_chosen (b),  policy_rejected (b),  reference_chosen (b),  reference_rejected (b)  ->  () for mean, (b) for none
    Dtypes
        as the arguments
    Units
        Nats.
    Domain
        all four finite, and small enough for their differences; beta > 0; 0 <= label_smoothing <= 1; b >= 1 for the mean.
    Edges
        d = 0 gives log(2), whatever beta and the smoothing are. A large beta d gives e beta d, a large -beta d gives
        -(1 - e) beta d, and neither overflows.

    Raises
        ValueError where reduction is none of "mean" and "none".
    Choices
        The difference may be grouped as policy against reference or as chosen against rejected. label_smoothing is the share of
        wrong labels of conservative DPO; the loss is not divided by 1 - 2 e, as that of robust DPO is.
    Source
        Rafailov et al. 2023, arXiv:2305.18290, eq. (7). Mitchell 2023, "A note on DPO with noisy preferences" (smoothing).
        CS336 assignment 5, supplement.

    Answers that the policy prefers as the reference does, and one that it prefers by 20 nats more:

    >>> dpo_loss([-3.0], [-7.0], [-3.5], [-7.5]).round(4)
    np.float64(0.6931)
    >>> dpo_loss([-3.0, -3.0], [-7.0, -27.0], [-3.5, -7.0], [-7.5, -11.0], reduction="none").round(4)
    array([0.6931, 0.1269])
    """
    x = beta * margin(policy_chosen, policy_rejected, reference_chosen, reference_rejected)
    tail = np.log(1 + np.exp(-np.abs(x)))  # the smaller of the two losses
    loss = np.maximum(-x, 0.0) + tail
    if not is_zero(label_smoothing):
        loss = (1 - label_smoothing) * loss + label_smoothing * (np.maximum(x, 0.0) + tail)
    if reduction == "none":
        return loss
    if reduction == "mean":
        return np.mean(loss, axis=0)
    raise ValueError(f"dpo_loss: reduction={reduction!r} is unknown; there are 'mean' and 'none'.")
