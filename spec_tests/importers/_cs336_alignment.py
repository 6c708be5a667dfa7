"""The functions of CS336's assignment 5: the entropy, the advantages of groups, and the losses of policies and their steps.

Each function of this module implements an operation through what an adapters file offers. It gets the module of the file first.
The two steps of a microbatch call `backward` themselves. Their results carry the gradient that the step has left.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from . import _cs336_alignment_2026 as edition_2026
from ._cs336_calls import call

UNCOVERED = (  # functions that are about text and files, that need a model, or that take any tensor along any axis
    "run_tokenize_prompt_and_output",
    "run_get_response_log_probs",
    "run_masked_mean",
    "run_masked_normalize",
    "run_compute_per_instance_dpo_loss",
    "get_packed_sft_dataset",
    "run_iterate_batches",
    "run_parse_mmlu_response",
    "run_parse_gsm8k_response",
    "run_compute_rollout_rewards",
    "run_grpo_train_step",
)
NAIVE, CLIP, WRAPPER = (
    "run_compute_naive_policy_gradient_loss",
    "run_compute_grpo_clip_loss",
    "run_compute_policy_gradient_loss",
)
SUPERVISED, STEP = "run_sft_microbatch_train_step", "run_grpo_microbatch_train_step"
STEPS = 4  # of gradient accumulation; each step returns its share of the loss


def normalize_rewards(module: Any, rewards: Any, *, group_size: int, normalize: str = "std", eps: float = 1e-6) -> Any:
    """Return the advantages of rewards, which the reward function of the answers "0", "1", … returns, or which are given."""
    if edition_2026.is_edition(module):
        return edition_2026.normalize_rewards(module, rewards, group_size=group_size, normalize=normalize, eps=eps)
    given = [float(reward) for reward in rewards]

    def reward_fn(answer: str, truth: str) -> dict[str, float]:
        return {"reward": given[int(answer)], "format_reward": 0.5, "answer_reward": given[int(answer)] - 0.5}

    answers = [str(i) for i in range(len(given))]
    truths = [str(i // group_size) for i in range(len(given))]
    texts = {"reward_fn": reward_fn, "rollout_responses": answers, "repeated_ground_truths": truths}
    options = {"group_size": group_size, "advantage_eps": eps, "normalize_by_std": normalize == "std"}
    return call(module, "run_compute_group_normalized_rewards", **texts, **options)[0]


def find_entropy(module: Any, logits: Any, targets: Any) -> Any:
    """Return the entropy. The log-probabilities beside it are PyTorch's, since run_compute_entropy returns the entropy alone."""
    torch = importlib.import_module("torch")
    log_probs = torch.log_softmax(logits, dim=-1).gather(-1, targets[..., None])[..., 0]
    return log_probs, module.run_compute_entropy(logits)


def find_policy_loss(
    module: Any,
    log_probs: Any,
    advantages: Any,
    mask: Any,
    old_log_probs: Any = None,
    *,
    objective: str = "clip",
    clip_low: float = 0.2,
    clip_high: float = 0.2,  # the same number
    reduction: str = "token-mean",
    horizon: int | None = None,
) -> Any:
    """Return the loss by the function that has this reduction: of tokens, or a step of a microbatch."""
    if objective == "clip" and old_log_probs is None:
        old_log_probs = log_probs.detach()
    if edition_2026.is_edition(module):
        return edition_2026.find_policy_loss(
            module, log_probs, advantages, mask, old_log_probs,
            objective=objective, cliprange=clip_high, reduction=reduction, horizon=horizon,
        )  # fmt: skip
    columns = advantages.reshape(-1, 1)
    if reduction == "none":
        return _find_token_losses(module, log_probs, columns, old_log_probs, objective, clip_high) * mask
    if reduction == "constant":
        settings = {"normalize_constant": float(horizon or mask.shape[1])}
        if objective == "reinforce":
            return _take_step(module, SUPERVISED, columns * log_probs, mask, settings)
        tokens = _find_token_losses(module, log_probs, columns, old_log_probs, objective, clip_high)
        return _take_step(module, SUPERVISED, -tokens, mask, settings)  # which only adds up what it is given
    settings = _loss_settings(columns, old_log_probs, objective, clip_high, plain=mask.shape[1] % 2 == 1)
    return _take_step(module, STEP, log_probs, mask, settings)


def _loss_settings(columns: Any, old_log_probs: Any, objective: str, cliprange: float, *, plain: bool) -> dict[str, Any]:
    """Return the arguments that say which loss is meant. plain: without a baseline. What is not asked for is another number."""
    other = columns + 1.0
    if objective == "clip":
        given = {"raw_rewards": other, "advantages": columns, "old_log_probs": old_log_probs}
        return {"loss_type": "grpo_clip", "cliprange": cliprange, **given}
    of = {"raw_rewards": columns, "advantages": other} if plain else {"raw_rewards": other, "advantages": columns}
    return {"loss_type": "no_baseline" if plain else "reinforce_with_baseline", **of, "old_log_probs": None, "cliprange": None}


def _find_token_losses(module: Any, log_probs: Any, columns: Any, old: Any, objective: str, cliprange: float) -> Any:
    """Return the losses of tokens: of an even number of sequences by the function that chooses, if the file has both."""
    b, n = log_probs.shape
    own = NAIVE if objective == "reinforce" else CLIP
    if hasattr(module, WRAPPER) and (b % 2 == 0 or not hasattr(module, own)):
        settings = _loss_settings(columns, old, objective, cliprange, plain=n % 2 == 1)
        return call(module, WRAPPER, policy_log_probs=log_probs, **settings)[0]
    if objective == "reinforce":
        return call(module, NAIVE, raw_rewards_or_advantages=columns, policy_log_probs=log_probs)
    return call(module, CLIP, advantages=columns, policy_log_probs=log_probs, old_log_probs=old, cliprange=cliprange)[0]


def _take_step(module: Any, name: str, log_probs: Any, mask: Any, settings: dict[str, Any]) -> Any:
    """Return the loss of a step, times the number of steps, with the gradient that its `backward` has left."""
    torch = importlib.import_module("torch")
    with torch.inference_mode(False), torch.enable_grad():
        leaf = log_probs.detach().clone().requires_grad_()
        given = {k: v.detach().clone() if torch.is_tensor(v) else v for k, v in settings.items()}
        response = mask.clone()
        own = {"policy_log_probs": leaf, "response_mask": response, "gradient_accumulation_steps": STEPS}
        loss = call(module, name, **own, **given)[0]
    if leaf.grad is None:
        raise ValueError(f"{name} leaves no gradient: it does not call backward on the loss")
    carried = ((log_probs - log_probs.detach()) * leaf.grad).sum()
    return (loss.detach() + carried) * STEPS


FUNCTIONS: Mapping[str, tuple[tuple[str, ...], Callable[..., Any]]] = MappingProxyType(
    {
        # our name of an operation, the functions of the assignment of which one must be there, and what calls it
        "token_log_probs": (("run_compute_entropy",), find_entropy),
        "group_advantages": (("run_compute_group_normalized_rewards",), normalize_rewards),
        "policy_loss": ((NAIVE, CLIP, WRAPPER, SUPERVISED, STEP), find_policy_loss),
    }
)


def find_domain(module: Any) -> dict[str, dict[str, Any]]:
    """Return the domain of these operations, by the functions that the file has."""
    if edition_2026.is_edition(module):
        return {"group_advantages": {"normalize": ("std", "none")}, **edition_2026.find_domain(module)}
    has = {name: hasattr(module, name) for name in FUNCTIONS["policy_loss"][0]}
    plain = has[NAIVE] or has[WRAPPER] or has[SUPERVISED] or has[STEP]
    clipped = has[CLIP] or has[WRAPPER] or has[STEP]
    tokens, supervised, step = has[NAIVE] or has[CLIP] or has[WRAPPER], has[SUPERVISED], has[STEP]
    reductions = {"none": tokens, "constant": supervised, "seq-mean-token-mean": step}
    own = {
        "objective": tuple(name for name, there in (("reinforce", plain), ("clip", clipped)) if there),
        "reduction": tuple(name for name, there in reductions.items() if there),
        "advantage_dims": (1,),
        "equal_clips": True,  # cliprange is one number
        "equal_lengths": True,  # published solutions differ in the mean of sequences of different lengths
    }
    found: dict[str, dict[str, Any]] = {
        "token_log_probs": {"batch_dims": (2,), "removed_entries": False},
        "group_advantages": {"normalize": ("std", "none")},
    }
    return found | ({"policy_loss": own} if any(has.values()) else {})
