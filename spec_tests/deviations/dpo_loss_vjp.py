"""What goes wrong with the gradient of dpo_loss: its sign, its factors, and what it is divided by."""

import math
from typing import Any

import numpy as np

from reference_numpy._marks import logistic
from reference_numpy._preferences import margin
from reference_numpy.dpo_loss_vjp import dpo_loss_vjp

from . import deviation


@deviation("reference", "no_margin")
def opposite_sign(
    cotangent: Any, policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any, **options: Any
) -> Any:
    """the gradient points the other way: the rejected answer becomes more probable.

    Shows: everything. Hides: nothing.
    """
    return dpo_loss_vjp(-cotangent, policy_chosen, policy_rejected, reference_chosen, reference_rejected, **options)


@deviation("reference", "chosen_and_rejected_are_opposite")
def rejected_without_a_gradient(
    cotangent: Any, policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any, **options: Any
) -> Any:
    """the rejected answer has no gradient, as if it were detached.

    Shows: everything. Hides: nothing.
    """
    dchosen, drejected, *others = dpo_loss_vjp(
        cotangent, policy_chosen, policy_rejected, reference_chosen, reference_rejected, **options
    )
    return dchosen, 0 * drejected, *others


@deviation("reference", "no_margin")
def beta_left_out(
    cotangent: Any,
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    **options: Any,
) -> Any:
    """the inner derivative beta is left out.

    Shows: every beta but 1. Hides: beta = 1.
    """
    dchosen, drejected, *others = dpo_loss_vjp(
        cotangent, policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta=beta, **options
    )
    return dchosen / beta, drejected / beta, *others


@deviation("reference", "opposite_margins")
def smoothing_forgotten(
    cotangent: Any,
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    label_smoothing: float = 0.0,
    **options: Any,
) -> Any:
    """the gradient is that of the loss without smoothing.

    Shows: smoothing. Hides: none.
    """
    return dpo_loss_vjp(cotangent, policy_chosen, policy_rejected, reference_chosen, reference_rejected, **options)


@deviation("reference", "mean_and_none")
def mean_not_divided(
    cotangent: Any,
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    reduction: str = "mean",
    **options: Any,
) -> Any:
    """the mean's gradient is not divided by the number of pairs.

    Shows: two pairs or more. Hides: a single pair.
    """
    each = cotangent if reduction == "none" else cotangent * np.ones(policy_chosen.shape)
    return dpo_loss_vjp(each, policy_chosen, policy_rejected, reference_chosen, reference_rejected, reduction="none", **options)


@deviation("reference", "no_margin")
def cotangent_ignored(
    cotangent: Any, policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any, **options: Any
) -> Any:
    """the cotangent is treated as 1, as in kernels that compute the gradient in the forward pass.

    Shows: a cotangent other than 1. Hides: loss.backward().
    """
    return dpo_loss_vjp(np.ones(cotangent.shape), policy_chosen, policy_rejected, reference_chosen, reference_rejected, **options)


@deviation("reference")
def first_cotangent_for_all(
    cotangent: Any, policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any, **options: Any
) -> Any:
    """with reduction none, every pair is multiplied by the cotangent of the first: the kernel loads one number.

    Shows: cotangents that differ from pair to pair. Hides: the mean, a single pair.
    """
    one = np.ones(cotangent.shape) * np.reshape(cotangent, (-1,))[0] if math.prod(cotangent.shape) else cotangent
    return dpo_loss_vjp(one, policy_chosen, policy_rejected, reference_chosen, reference_rejected, **options)


@deviation("reference", "opposite_margins")
def slope_of_the_sigmoid(
    cotangent: Any,
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    **options: Any,
) -> Any:
    """the gradient is that of the sigmoid, σ(1 − σ), and not that of its logarithm.

    Shows: every margin. Hides: nothing.
    """
    dchosen, drejected, *others = dpo_loss_vjp(
        cotangent, policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta=beta, **options
    )
    s = logistic(beta * margin(policy_chosen, policy_rejected, reference_chosen, reference_rejected))
    return dchosen * s, drejected * s, *others
