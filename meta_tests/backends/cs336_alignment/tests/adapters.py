"""A student's right adapters of CS336, assignment 5. The functions that need a model or text are not written."""

import torch


def run_masked_mean(tensor, mask, dim=None):
    return (tensor * mask).sum(dim) / mask.sum(dim)


def run_masked_normalize(tensor, mask, dim=None, normalize_constant=1.0):
    return (tensor * mask).sum(dim) / normalize_constant


def run_get_response_log_probs(model, input_ids, labels, return_token_entropy):
    raise NotImplementedError


def run_compute_entropy(logits):
    log_probs = torch.log_softmax(logits, dim=-1)
    return -(log_probs.exp() * log_probs).sum(-1)


def run_compute_group_normalized_rewards(
    reward_fn, rollout_responses, repeated_ground_truths, group_size, advantage_eps, normalize_by_std
):
    pairs = zip(rollout_responses, repeated_ground_truths, strict=True)
    raw = torch.tensor([reward_fn(answer, truth)["reward"] for answer, truth in pairs])
    groups = raw.view(-1, group_size)
    advantages = groups - groups.mean(-1, keepdim=True)
    if normalize_by_std:
        advantages = advantages / (groups.std(-1, keepdim=True) + advantage_eps)
    return advantages.view(-1), raw, {"mean": raw.mean().item()}


def run_compute_naive_policy_gradient_loss(raw_rewards_or_advantages, policy_log_probs):
    return -raw_rewards_or_advantages * policy_log_probs


def run_compute_grpo_clip_loss(advantages, policy_log_probs, old_log_probs, cliprange):
    ratio = torch.exp(policy_log_probs - old_log_probs)
    clipped = torch.clamp(ratio, 1 - cliprange, 1 + cliprange)
    return -torch.min(ratio * advantages, clipped * advantages), {"clipped": ratio != clipped}


def run_compute_policy_gradient_loss(policy_log_probs, loss_type, raw_rewards, advantages, old_log_probs, cliprange):
    if loss_type == "no_baseline":
        return run_compute_naive_policy_gradient_loss(raw_rewards, policy_log_probs), {}
    if loss_type == "reinforce_with_baseline":
        return run_compute_naive_policy_gradient_loss(advantages, policy_log_probs), {}
    return run_compute_grpo_clip_loss(advantages, policy_log_probs, old_log_probs, cliprange)


def run_sft_microbatch_train_step(policy_log_probs, response_mask, gradient_accumulation_steps, normalize_constant=1.0):
    loss = run_masked_normalize(-policy_log_probs, response_mask, -1, normalize_constant).mean() / gradient_accumulation_steps
    loss.backward()
    return loss, {}


def run_grpo_microbatch_train_step(
    policy_log_probs,
    response_mask,
    gradient_accumulation_steps,
    loss_type,
    raw_rewards=None,
    advantages=None,
    old_log_probs=None,
    cliprange=None,
):
    given = raw_rewards, advantages, old_log_probs, cliprange
    tokens, metadata = run_compute_policy_gradient_loss(policy_log_probs, loss_type, *given)
    loss = run_masked_mean(tokens, response_mask, -1).mean() / gradient_accumulation_steps
    loss.backward()
    return loss, metadata
