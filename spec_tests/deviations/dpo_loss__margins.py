"""What goes wrong with dpo_loss where one of the two answers is left out of the margin."""

from typing import Any

from reference_numpy.dpo_loss import dpo_loss

from . import deviation


@deviation("reference", "no_margin", seen=("https://github.com/haozheji/exact-optimization/issues/2",))
def rejected_left_out(
    policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any, **options: Any
) -> Any:
    """the rejected answer is left out: the margin is what the policy has more of the chosen one than the reference.

    Shows: rejected answers of different log-probabilities. Hides: equal ones.
    """
    return dpo_loss(policy_chosen, 0 * policy_rejected, reference_chosen, 0 * reference_rejected, **options)


@deviation("reference", "no_margin")
def chosen_left_out(
    policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any, **options: Any
) -> Any:
    """the chosen answer is left out: the margin is what the reference has more of the rejected one than the policy.

    Shows: chosen answers of different log-probabilities. Hides: equal ones.
    """
    return dpo_loss(0 * policy_chosen, policy_rejected, 0 * reference_chosen, reference_rejected, **options)
