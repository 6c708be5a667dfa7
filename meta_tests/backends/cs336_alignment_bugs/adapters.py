"""A student's adapters of CS336, assignment 5, with a bug in each function. `BUG` names the one function that has its bug."""

import os

import torch

BUG = os.environ["BUG_OF_ADAPTERS"]


def run_masked_mean(tensor, mask, dim=None):
    return (tensor * mask).sum(dim) / mask.sum(dim)


def run_masked_normalize(tensor, mask, dim=None, normalize_constant=1.0):
    return (tensor * mask).sum(dim) / normalize_constant


def run_get_response_log_probs(model, input_ids, labels, return_token_entropy):
    raise NotImplementedError


def run_compute_entropy(logits):
    log_probs = torch.log_softmax(logits, dim=-1)
    return (-1 if BUG != "run_compute_entropy" else 1) * (log_probs.exp() * log_probs).sum(-1)  # the sign


def run_compute_group_normalized_rewards(
    reward_fn, rollout_responses, repeated_ground_truths, group_size, advantage_eps, normalize_by_std
):
    pairs = zip(rollout_responses, repeated_ground_truths, strict=True)
    raw = torch.tensor([reward_fn(answer, truth)["reward"] for answer, truth in pairs])
    groups = raw.view(-1, group_size)
    mean = groups.mean(-1, keepdim=True) if BUG != "run_compute_group_normalized_rewards" else raw.mean()
    advantages = groups - mean
    if normalize_by_std:
        advantages = advantages / (groups.std(-1, keepdim=True) + advantage_eps)
    return advantages.view(-1), raw, {"mean": raw.mean().item()}


def run_compute_naive_policy_gradient_loss(raw_rewards_or_advantages, policy_log_probs):
    loss = raw_rewards_or_advantages * policy_log_probs
    return loss if BUG == "run_compute_naive_policy_gradient_loss" else -loss


def run_compute_grpo_clip_loss(advantages, policy_log_probs, old_log_probs, cliprange):
    ratio = torch.exp(policy_log_probs - old_log_probs)
    clipped = torch.clamp(ratio, 1 - cliprange, 1 + cliprange)
    choose = torch.max if BUG == "run_compute_grpo_clip_loss" else torch.min
    return -choose(ratio * advantages, clipped * advantages), {"clipped": ratio != clipped}


def run_compute_policy_gradient_loss(policy_log_probs, loss_type, raw_rewards, advantages, old_log_probs, cliprange):
    if loss_type == "no_baseline":
        return run_compute_naive_policy_gradient_loss(raw_rewards, policy_log_probs), {}
    if loss_type == "reinforce_with_baseline":
        given = raw_rewards if BUG == "run_compute_policy_gradient_loss" else advantages
        return run_compute_naive_policy_gradient_loss(given, policy_log_probs), {}
    return run_compute_grpo_clip_loss(advantages, policy_log_probs, old_log_probs, cliprange)


def run_sft_microbatch_train_step(policy_log_probs, response_mask, gradient_accumulation_steps, normalize_constant=1.0):
    sums = run_masked_normalize(-policy_log_probs, response_mask, -1, normalize_constant)
    loss = (sums.sum() if BUG == "run_sft_microbatch_train_step" else sums.mean()) / gradient_accumulation_steps
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
    means = tokens.mean(-1) if BUG == "run_grpo_microbatch_train_step" else run_masked_mean(tokens, response_mask, -1)
    loss = means.mean() / gradient_accumulation_steps
    loss.backward()
    return loss, metadata
