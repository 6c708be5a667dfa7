"""Losses, and what an optimizer does with their gradients, of torch_cpu."""

import math

import torch

from ._torch_functions import _widened


def cross_entropy(
    logits, targets, weight=None,
    *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, softcap=None, reduction="mean",
):  # fmt: skip
    z, ids = _widened(logits).reshape(-1, logits.shape[-1]), targets.flatten()
    z = z if softcap is None else softcap * torch.tanh(z / softcap)
    kept, lse = ids != ignore_index, torch.logsumexp(z, dim=-1)
    w = z.new_ones(z.shape[-1]) if weight is None else _widened(weight)
    of_target = w[ids.where(kept, 0)].where(kept, 0)
    loss = of_target * (lse - z.gather(-1, ids.where(kept, 0)[:, None])[:, 0])
    if label_smoothing:
        loss = (1 - label_smoothing) * loss + label_smoothing * (w * (lse[:, None] - z)).mean(-1)
    loss = (loss + z_loss * lse.square()).where(kept, 0)
    if reduction == "none":
        return loss.reshape(targets.shape)
    return loss.sum() if reduction == "sum" else loss.sum() / of_target.sum()


def soft_target_cross_entropy(logits, targets, weight=None, *, label_smoothing=0.0, reduction="mean"):
    z = _widened(logits)
    q = (1 - label_smoothing) * _widened(targets) + label_smoothing / z.shape[-1]
    q = q if weight is None else q * _widened(weight)
    loss = -(q * torch.log_softmax(z, dim=-1)).sum(-1)
    return {"none": lambda x: x, "sum": torch.sum, "mean": torch.mean}[reduction](loss)


def _kl(p, q):
    return (p.exp() * (p - q)).sum(-1)


def divergence(
    student_logits, teacher_logits, targets=None,
    *, beta=0.0, temperature=1.0, ignore_index=-100, reduction="mean",
):  # fmt: skip
    s, t = _widened(student_logits) / temperature, _widened(teacher_logits) / temperature
    removed = s == -torch.inf  # in both
    q, p = (torch.log_softmax(z, dim=-1).masked_fill(removed, 0.0) for z in (s, t))
    q, p = (torch.where(removed, -1e4, x) for x in (q, p))
    if beta in (0.0, 1.0):
        loss = _kl(q, p) if beta else _kl(p, q)
    else:
        m = torch.logaddexp(p + math.log(beta), q + math.log(1 - beta))
        loss = beta * _kl(p, m) + (1 - beta) * _kl(q, m)
    kept = torch.ones_like(loss, dtype=torch.bool) if targets is None else targets != ignore_index
    loss = loss.where(kept, torch.zeros_like(loss))
    if reduction == "none":
        return loss
    return loss.sum() / kept.sum() if reduction == "mean" else loss.sum()


def dpo_loss(
    policy_chosen, policy_rejected, reference_chosen, reference_rejected,
    *, beta=0.1, label_smoothing=0.0, reduction="mean",
):  # fmt: skip
    x = beta * ((policy_chosen - reference_chosen) - (policy_rejected - reference_rejected))
    loss = -torch.nn.functional.logsigmoid(x) * (1 - label_smoothing) - torch.nn.functional.logsigmoid(-x) * label_smoothing
    return loss.mean() if reduction == "mean" else loss


def token_log_probs(logits, targets, *, temperature=1.0):
    z = _widened(logits) / temperature
    log_probs = torch.log_softmax(z, dim=-1)
    entropy = torch.logsumexp(z, dim=-1) - (log_probs.exp() * z.masked_fill(z == -torch.inf, 0.0)).sum(-1)
    return log_probs.gather(-1, targets[..., None])[..., 0], entropy


def group_advantages(rewards, *, group_size, normalize="std", baseline="mean", eps=1e-6):
    r = _widened(rewards).reshape(-1, group_size)
    base = r.mean(-1, keepdim=True)
    if baseline == "leave-one-out":
        base = (r.sum(-1, keepdim=True) - r) / (group_size - 1)
    scale = {"std": r.std(-1, keepdim=True) + eps, "batch_std": r.std() + eps, "none": 1.0}[normalize]
    return ((r - base) / scale).reshape(-1).to(rewards.dtype)


def policy_loss(
    log_probs, advantages, mask, old_log_probs=None, reference_log_probs=None,
    *, objective="clip", clip_low=0.2, clip_high=0.2, ratio_limit=None, level="token", kl_weight=0.0, kl_estimator="k3",
    reduction="token-mean", horizon=None,
):  # fmt: skip
    a, nothing, n = advantages.reshape(len(log_probs), -1), log_probs.new_zeros(()), mask.shape[1]
    log_probs = torch.where(mask, log_probs, nothing)
    before = log_probs.detach() if old_log_probs is None else torch.where(mask, old_log_probs, nothing)
    counts = mask.sum(-1, keepdim=True)
    log_ratio = log_probs - before
    if level == "sequence":
        log_ratio = log_ratio.sum(-1, keepdim=True) / counts.clamp(min=1)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(min=None if clip_low is None else 1 - clip_low, max=1 + clip_high)
    if objective == "reinforce":
        loss = -a * log_probs
    elif objective == "cispo":
        loss = -clipped.detach() * a * log_probs
    else:
        ratio = ratio if ratio_limit is None else ratio.clamp(max=ratio_limit)
        loss = torch.maximum(-ratio * a, -clipped * a)
    if kl_weight:
        d = torch.where(mask, reference_log_probs, nothing) - log_probs
        loss = loss + kl_weight * {"k1": lambda: -d, "k2": lambda: d.square() / 2, "k3": lambda: d.exp() - d - 1}[kl_estimator]()
    loss = torch.where(mask, loss, nothing)
    if reduction == "none":
        return loss
    if reduction == "token-mean":
        return loss.sum() / mask.sum()
    if reduction == "seq-mean-token-mean":
        return (loss.sum(-1) / counts[:, 0].clamp(min=1)).mean()
    return (loss.sum(-1) / ((horizon or n) if reduction == "constant" else 1)).mean()


def linear_cross_entropy(x, weight, targets, **options):
    return cross_entropy(_widened(x) @ _widened(weight).mT, targets, **options)


def cosine_schedule(*, step, max_learning_rate, min_learning_rate, warmup_steps, cosine_steps):
    if step < warmup_steps:
        return step / warmup_steps * max_learning_rate
    share = min((step - warmup_steps) / (cosine_steps - warmup_steps), 1.0)
    return min_learning_rate + (max_learning_rate - min_learning_rate) * (1 + math.cos(math.pi * share)) / 2


def gradient_clipping(gradients, *, max_norm, eps=1e-6):
    norm = sum(_widened(g).square().sum() for g in gradients).sqrt()
    return [g.clone() for g in gradients] if norm < max_norm else [(g * (max_norm / (norm + eps))).to(g.dtype) for g in gradients]


def adamw_step(
    parameter, gradient, first_moment, second_moment,
    *, step, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01,
):  # fmt: skip
    m = beta1 * first_moment + (1 - beta1) * gradient
    v = beta2 * second_moment + (1 - beta2) * gradient.square()
    root = (v / (1 - beta2**step)).sqrt() + eps
    update = m / (1 - beta1**step) / root
    return parameter * (1 - learning_rate * weight_decay) - learning_rate * update, m, v


def adamw_steps(parameter, gradients, **settings):
    state, after = (parameter, torch.zeros_like(parameter), torch.zeros_like(parameter)), []
    for i in range(gradients.shape[-1]):
        p, m, v = state
        state = adamw_step(p, gradients[..., i], m, v, step=i + 1, **settings)
        after.append(state[0])
    return torch.stack(after, dim=-1)
