"""A student's file in PyTorch with five bugs, each in another function. The attention, the block and gradients only use them."""

import torch
import torch.nn.functional as F

framework = "torch"
dtypes = ("float32",)


def softmax(x, *, axis):
    e = (x - x.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)  # 1: the axis is ignored


def linear(x, weight):
    return x @ weight.mT


def rms_norm(x, weight, *, eps):
    return (x.double() * (x.double().square().mean(-1, keepdim=True) + eps).rsqrt() * weight.double()).float()


def swiglu(x, w1, w2, w3):
    return (F.silu(x @ w1.mT) * (x @ w3.mT)) @ w2.mT


def rope(x, positions, *, theta):
    half = x.shape[-1] // 2
    angles = positions.double()[..., None] * theta ** (-torch.arange(half).double() / max(half, 1))
    a, b = x[..., :half], x[..., half:]  # 2: pairs of halves
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1).to(x.dtype)


def scaled_dot_product_attention(q, k, v, mask=None, *, is_causal=False):
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if is_causal:
        causal = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        mask = causal if mask is None else mask & causal
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    return softmax(scores, axis=-1) @ v


def multihead_self_attention(x, w_q, w_k, w_v, w_o, *, num_heads, theta=None):
    if theta is not None:
        raise NotImplementedError("without positions only")
    *batch, n, _ = x.shape
    q, k, v = ((x @ w.mT).reshape(*batch, num_heads, n, w.shape[0] // num_heads) for w in (w_q, w_k, w_v))
    heads = scaled_dot_product_attention(q, k, v, is_causal=True)
    return heads.reshape(*batch, n, w_v.shape[0]) @ w_o.mT  # 3: heads are split and merged without transpose


def transformer_block(x, weights, *, num_heads, eps, theta=None):
    w = weights
    h = x + multihead_self_attention(
        rms_norm(x, w["attn_norm"], eps=eps), *(w[f"w_{name}"] for name in "qkvo"), num_heads=num_heads, theta=theta
    )
    return h + swiglu(rms_norm(h, w["ffn_norm"], eps=eps), w["w1"], w["w2"], w["w3"])


def cross_entropy(logits, targets):
    of_targets = logits.gather(-1, targets.long()[..., None])[..., 0]
    return (logits.exp().sum(-1).log() - of_targets).mean()  # 4: the maximum is not subtracted


def gradient_clipping(gradients, *, max_norm, eps=1e-6):
    clipped = []
    for g in gradients:
        norm = g.double().square().sum().sqrt()  # 5: each array by its own norm
        clipped.append(g.clone() if norm < max_norm else (g.double() * max_norm / (norm + eps)).to(g.dtype))
    return clipped
