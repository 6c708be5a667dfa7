"""The functions of CS336's assignment 5 as they are since 2026: advantages of given rewards, losses of tokens, and their sum.

What the hand-out leaves open is not tried: whether the ratio of a sequence is that of all its tokens or of those that count.
"""

from __future__ import annotations

from typing import Any

from ._cs336_calls import call

ADVANTAGES, TOKENS, SUM = (
    "run_compute_group_normalized_rewards",
    "run_compute_policy_gradient_loss",
    "run_aggregate_loss_across_microbatch",
)
NEW = (SUM, "run_compute_rollout_rewards", "run_grpo_train_step")  # which no earlier edition has


def is_edition(module: Any) -> bool:
    """Whether the file is of this edition."""
    return any(hasattr(module, name) for name in NEW)


def normalize_rewards(module: Any, rewards: Any, *, group_size: int, normalize: str, eps: float) -> Any:
    """Return the advantages of rewards, less the mean of their group."""
    options = {"baseline": "mean", "advantage_eps": eps, "advantage_normalizer": normalize}
    return call(module, ADVANTAGES, raw_rewards=rewards, group_size=group_size, **options)[0]


def find_policy_loss(
    module: Any,
    log_probs: Any,
    advantages: Any,
    mask: Any,
    old_log_probs: Any,
    *,
    objective: str,
    cliprange: float,
    reduction: str,
    horizon: int | None,
) -> Any:
    """Return the losses of the tokens, or their sum. The total is divided by one constant, for all sequences and tokens."""
    method: dict[str, Any] = {"importance_reweighting_method": "none"}
    if objective == "clip":
        method = {"importance_reweighting_method": "grpo", "old_log_probs": old_log_probs, "cliprange": cliprange}
    given = {"raw_rewards_or_advantages": advantages.reshape(-1, 1), "policy_log_probs": log_probs, "response_mask": mask}
    tokens = call(module, TOKENS, **given, **method)[0]
    if reduction == "none":
        return tokens * mask
    if reduction == "constant":
        divisor = {"loss_normalization": "constant", "normalization_constant": len(mask) * (horizon or mask.shape[1])}
    else:
        divisor = {"loss_normalization": "sequence"}
    return call(module, SUM, per_token_policy_gradient_loss=tokens, mask=mask, **divisor)


def find_domain(module: Any) -> dict[str, dict[str, Any]]:
    """Return the domain of the policy's loss, by the functions that the file has."""
    reductions = ("none", *(("constant", "seq-mean-token-mean") if hasattr(module, SUM) else ()))
    own = {"objective": ("reinforce", "clip"), "reduction": reductions, "advantage_dims": (1,)}
    return {"policy_loss": {**own, "equal_clips": True, "equal_lengths": True}} if hasattr(module, TOKENS) else {}
