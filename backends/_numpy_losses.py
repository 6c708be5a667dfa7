"""Losses, and what an optimizer does with their gradients, of numpy_cpu."""

import math

import numpy as np

from ._numpy_functions import logsumexp, wide


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # the mean of no rows is NaN
def cross_entropy(
    logits, targets, weight=None,
    *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, softcap=None, reduction="mean",
):  # fmt: skip
    z, ids = wide(logits).reshape(-1, logits.shape[-1]), targets.reshape(-1)
    z = z if softcap is None else (softcap * np.tanh(z / softcap)).astype(z.dtype)
    kept, lse = ids != ignore_index, logsumexp(z, axis=-1)
    w = np.ones(z.shape[-1], z.dtype) if weight is None else wide(weight)
    of_target = np.where(kept, w[np.where(kept, ids, 0)], 0)
    loss = (1 - label_smoothing) * of_target * (lse - z[np.arange(len(ids)), np.where(kept, ids, 0)])
    if label_smoothing:
        loss = loss + label_smoothing * (w * (lse[:, None] - z)).mean(-1)
    loss = np.where(kept, loss + z_loss * np.square(lse), 0).astype(z.dtype)
    if reduction == "none":
        return loss.reshape(targets.shape)
    total = np.asarray(loss.sum())
    return total if reduction == "sum" else np.asarray(total / of_target.sum(), dtype=z.dtype)


@np.errstate(over="ignore", invalid="ignore")  # the loss may lie beyond the dtype
def soft_target_cross_entropy(logits, targets, weight=None, *, label_smoothing=0.0, reduction="mean"):
    z, q = wide(logits), wide(targets)
    if label_smoothing:
        q = ((1 - label_smoothing) * q + label_smoothing / z.shape[-1]).astype(z.dtype)
    q = q if weight is None else wide(weight) * q
    loss = np.sum(q * (logsumexp(z, axis=-1)[..., None] - z), axis=-1)
    return np.asarray({"none": lambda x: x, "sum": np.sum, "mean": np.mean}[reduction](loss), dtype=z.dtype)


def _logarithms(logits, temperature):
    z = (wide(logits) / temperature).astype(wide(logits).dtype)
    z = z - np.max(z, axis=-1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))


def _kl(p, q):
    return np.sum(np.exp(p) * np.where(p == -np.inf, 0, p - q), axis=-1)


@np.errstate(divide="ignore", invalid="ignore")  # -inf in both; the mean of no rows is NaN
def divergence(
    student_logits, teacher_logits, targets=None,
    *, beta=0.0, temperature=1.0, ignore_index=-100, reduction="mean",
):  # fmt: skip
    q, p = _logarithms(student_logits, temperature), _logarithms(teacher_logits, temperature)
    if beta in (0.0, 1.0):
        loss = _kl(q, p) if beta else _kl(p, q)
    else:
        m = np.logaddexp(p + np.log(beta), q + np.log(1 - beta))
        loss = beta * _kl(p, m) + (1 - beta) * _kl(q, m)
    kept = np.ones(loss.shape, bool) if targets is None else targets != ignore_index
    loss = np.where(kept, loss, 0).astype(q.dtype)
    if reduction == "none":
        return loss
    return np.asarray(loss.sum() / kept.sum() if reduction == "mean" else loss.sum(), dtype=q.dtype)


def dpo_loss(
    policy_chosen, policy_rejected, reference_chosen, reference_rejected,
    *, beta=0.1, label_smoothing=0.0, reduction="mean",
):  # fmt: skip
    x = beta * ((policy_chosen - policy_rejected) - (reference_chosen - reference_rejected))
    loss = (1 - label_smoothing) * np.logaddexp(0, -x) + label_smoothing * np.logaddexp(0, x)
    return np.asarray(loss.mean() if reduction == "mean" else loss, dtype=policy_chosen.dtype)


@np.errstate(invalid="ignore")  # -inf times a probability of 0
def token_log_probs(logits, targets, *, temperature=1.0):
    z = (wide(logits) / temperature).astype(wide(logits).dtype)
    z = z - np.max(z, axis=-1, keepdims=True)
    z = z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))
    surprise = np.where(z == -np.inf, 0, np.exp(z) * z)
    return np.take_along_axis(z, targets[..., None], axis=-1)[..., 0], -np.sum(surprise, axis=-1)


def group_advantages(rewards, *, group_size, normalize="std", baseline="mean", eps=1e-6):
    r = wide(rewards).reshape(-1, group_size)
    c = r - r.mean(-1, keepdims=True)
    if baseline == "leave-one-out":
        c = c * (group_size / (group_size - 1))
    if normalize != "none":
        c = c / ((r.std(-1, ddof=1, keepdims=True) if normalize == "std" else r.std(ddof=1)) + eps)
    return c.reshape(-1).astype(rewards.dtype)


@np.errstate(divide="ignore", invalid="ignore", over="ignore")  # the mean of no token is NaN; tokens that do not count
def policy_loss(
    log_probs, advantages, mask, old_log_probs=None, reference_log_probs=None,
    *, objective="clip", clip_low=0.2, clip_high=0.2, ratio_limit=None, level="token", kl_weight=0.0, kl_estimator="k3",
    reduction="token-mean", horizon=None,
):  # fmt: skip
    kind, a = log_probs.dtype.type, advantages.reshape(len(log_probs), -1)
    counts = mask.sum(-1, keepdims=True)
    log_ratio = log_probs - (log_probs if old_log_probs is None else old_log_probs)
    if level == "sequence":
        log_ratio = np.where(mask, log_ratio, 0).sum(-1, keepdims=True) / np.maximum(counts, 1).astype(kind)
    ratio = np.exp(log_ratio)
    clipped = np.clip(ratio, -np.inf if clip_low is None else kind(1 - clip_low), kind(1 + clip_high))
    if objective == "reinforce":
        loss = -a * log_probs
    elif objective == "cispo":
        loss = -clipped * a * log_probs
    else:
        ratio = ratio if ratio_limit is None else np.minimum(ratio, kind(ratio_limit))
        loss = -np.minimum(ratio * a, clipped * a) + np.zeros_like(log_probs)
    if kl_weight:
        d = reference_log_probs - log_probs
        loss = loss + kind(kl_weight) * {"k1": lambda: -d, "k2": lambda: d * d / 2, "k3": lambda: np.expm1(d) - d}[kl_estimator]()
    loss = np.where(mask, loss, 0)
    if reduction == "none":
        return loss.astype(kind)
    if reduction == "token-mean":
        return np.asarray(loss.sum() / counts.sum(), dtype=kind)
    rows = loss.sum(-1)
    if reduction == "seq-mean-token-mean":
        rows = rows / np.maximum(counts[:, 0], 1)
    elif reduction == "constant":
        rows = rows / (mask.shape[1] if horizon is None else horizon)
    return np.asarray(rows.sum() / len(rows), dtype=kind)


def linear_cross_entropy(x, weight, targets, **options):
    return cross_entropy(wide(x) @ wide(weight).T, targets, **options)


def cosine_schedule(*, step, max_learning_rate, min_learning_rate, warmup_steps, cosine_steps):
    if step < warmup_steps:
        return step / warmup_steps * max_learning_rate
    share = min((step - warmup_steps) / (cosine_steps - warmup_steps), 1.0)
    return min_learning_rate + (max_learning_rate - min_learning_rate) * (1 + math.cos(math.pi * share)) / 2


def gradient_clipping(gradients, *, max_norm, eps=1e-6):
    norm = np.sqrt(sum(np.square(wide(g)).sum() for g in gradients))
    if norm < max_norm:
        return [g.copy() for g in gradients]
    return [(wide(g) * (max_norm / (norm + eps)).astype(norm.dtype)).astype(g.dtype) for g in gradients]


def adamw_step(
    parameter, gradient, first_moment, second_moment,
    *, step, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01,
):  # fmt: skip
    kind = parameter.dtype.type
    m = kind(beta1) * first_moment + kind(1 - beta1) * gradient
    v = kind(beta2) * second_moment + kind(1 - beta2) * gradient * gradient
    root = np.sqrt(v / kind(1 - beta2**step)) + kind(eps)
    update = m / kind(1 - beta1**step) / root
    return parameter * kind(1 - learning_rate * weight_decay) - kind(learning_rate) * update, m, v


def adamw_steps(parameter, gradients, **settings):
    state, after = (parameter, np.zeros_like(parameter), np.zeros_like(parameter)), []
    for i in range(gradients.shape[-1]):
        p, m, v = state
        state = adamw_step(p, gradients[..., i], m, v, step=i + 1, **settings)
        after.append(state[0])
    return np.stack(after, axis=-1)
