"""The functions without weights."""

import math

import torch


def softmax(x, dim):
    shifted = x - x.amax(dim, keepdim=True)
    e = shifted.exp()
    return e / e.sum(dim, keepdim=True)


def silu(x):
    return x * torch.sigmoid(x)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.einsum("...nd,...md->...nm", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores, -1) @ v


def cross_entropy(logits, targets):
    shifted = logits - logits.amax(-1, keepdim=True)
    chosen = shifted.gather(-1, targets[:, None])[:, 0]
    return (shifted.exp().sum(-1).log() - chosen).mean()


def learning_rate(step, largest, smallest, warmup, end):
    if step < warmup:
        return largest * step / warmup
    if step > end:
        return smallest
    return smallest + (1 + math.cos(math.pi * (step - warmup) / (end - warmup))) * (largest - smallest) / 2


def clip_gradients(parameters, limit, eps=1e-6):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.sqrt(sum(g.square().sum() for g in gradients))
    if norm >= limit:
        for g in gradients:
            g.mul_(limit / (norm + eps))
