"""PyTorch's own fused operations in the dtype that they are given; what PyTorch has no operation for is absent."""

import torch
import torch.nn.functional as F

from ._torch_scaled import *

framework = "torch"
device = "cpu"
conventions = {
    "causal_alignment": "top-left",
    "fully_masked_rows": "zero",
    "all_ignored": "nan",
    "adamw_epsilon": "corrected",
    "adamw_decay": "before",
    "muon_compute": "bfloat16",  # whatever the dtype of the parameter is
    "muon_momentum": "average",
    "muon_norm": "floor",
}
domain = {
    "gated_activation": {"activation": ("sigmoid",), "gate": ("second",)},  # F.glu alone has both halves in one array
    "scaled_matmul": SCALED_MM,
}


def linear(x, weight, bias=None):
    return F.linear(x, weight, bias)


def embedding(token_ids, weight, *, padding_idx=None):
    return F.embedding(token_ids, weight, padding_idx)


def softmax(x, *, axis):
    return F.softmax(x, dim=axis)


def log_softmax(x, *, axis):
    return F.log_softmax(x, dim=axis)


def logsumexp(x, *, axis):
    return torch.logsumexp(x, dim=axis)


def rms_norm(x, weight, *, eps):
    return F.rms_norm(x, weight.shape, weight, eps)


def add_rms_norm(x, residual, weight, *, eps):
    total = x + residual
    return rms_norm(total, weight, eps=eps), total


def layer_norm(x, weight, bias, *, eps):
    return F.layer_norm(x, weight.shape, weight, bias, eps)


def relu(x):
    return F.relu(x)


def silu(x):
    return F.silu(x)


def sigmoid(x):
    return torch.sigmoid(x)


def gelu(x, *, approximate="none"):
    return F.gelu(x, approximate=approximate)


def glu(x, w1, w2):
    return F.glu(F.linear(x, torch.cat([w2, w1])))


def gated_activation(x):
    return F.glu(x)


def swiglu(x, w1, w2, w3):
    return F.linear(F.silu(F.linear(x, w1)) * F.linear(x, w3), w2)


def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    return F.linear({"relu": F.relu, "gelu": F.gelu}[activation](F.linear(x, w1, b1)), w2, b2)


def cross_entropy(logits, targets, weight=None, *, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    rows = logits.reshape(-1, logits.shape[-1])
    options = {"weight": weight, "ignore_index": ignore_index, "label_smoothing": label_smoothing, "reduction": reduction}
    loss = F.cross_entropy(rows, targets.flatten(), **options)
    return loss.reshape(targets.shape) if reduction == "none" else loss


def soft_target_cross_entropy(logits, targets, weight=None, *, label_smoothing=0.0, reduction="mean"):
    rows, probabilities = (x.reshape(-1, x.shape[-1]) for x in (logits, targets))
    loss = F.cross_entropy(rows, probabilities, weight=weight, label_smoothing=label_smoothing, reduction=reduction)
    return loss.reshape(targets.shape[:-1]) if reduction == "none" else loss


if hasattr(F, "linear_cross_entropy"):  # from PyTorch 2.13 on

    def linear_cross_entropy(x, weight, targets, *, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
        chunks = torch.nn.LinearCrossEntropyOptions(allow_retain_graph=True)  # by default a second backward pass is refused
        options = {"ignore_index": ignore_index, "label_smoothing": label_smoothing, "reduction": reduction}
        options["options"] = None if label_smoothing else chunks  # smoothed labels take the path that has all logits at once
        loss = F.linear_cross_entropy(x.reshape(-1, x.shape[-1]), weight, targets.flatten(), **options)
        return loss.reshape(targets.shape) if reduction == "none" else loss


def gradient_clipping(gradients, *, max_norm):
    weights = [torch.nn.Parameter(g.clone()) for g in gradients]
    for weight, g in zip(weights, gradients, strict=True):
        weight.grad = g.clone()
    torch.nn.utils.clip_grad_norm_(weights, max_norm)
    return [weight.grad for weight in weights]


def adamw_step(
    parameter, gradient, first_moment, second_moment,
    *, step, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01,
):  # fmt: skip
    weight = torch.nn.Parameter(parameter.clone())
    weight.grad = gradient.clone()
    optimizer = torch.optim.AdamW([weight], lr=learning_rate, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay)
    moments = {"exp_avg": first_moment.clone(), "exp_avg_sq": second_moment.clone()}
    optimizer.state[weight] = {"step": torch.tensor(float(step - 1), dtype=torch.float32), **moments}
    optimizer.step()
    state = optimizer.state[weight]
    return weight.detach(), state["exp_avg"], state["exp_avg_sq"]


def adamw_steps(parameter, gradients, *, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    weight, after = torch.nn.Parameter(parameter.clone()), []
    optimizer = torch.optim.AdamW([weight], lr=learning_rate, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay)
    for gradient in gradients.unbind(-1):
        weight.grad = gradient.clone()
        optimizer.step()
        after.append(weight.detach().clone())
    return torch.stack(after, dim=-1)


def muon_step(
    parameter, gradient, momentum_buffer,
    *, learning_rate, momentum=0.95, nesterov=True, weight_decay=0.0, adjust="original",
    steps=5, coefficients=(3.4445, -4.775, 2.0315), eps=1e-7,
):  # fmt: skip
    weight = torch.nn.Parameter(parameter.clone())
    weight.grad = gradient.clone()
    settings = {"momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay, "adjust_lr_fn": adjust}
    newton_schulz = {"ns_steps": steps, "ns_coefficients": coefficients, "eps": eps}
    optimizer = torch.optim.Muon([weight], lr=learning_rate, **settings, **newton_schulz)
    optimizer.state[weight] = {"momentum_buffer": momentum_buffer.clone()}
    optimizer.step()
    return weight.detach(), optimizer.state[weight]["momentum_buffer"]


def causal_mask(*, n, m=None, aligned="bottom-right", device=device):
    m = n if m is None else m
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(m - n if aligned == "bottom-right" else 0)


def sliding_window_mask(*, n, m=None, window, is_causal=True, device=device):
    every = torch.ones(n, n if m is None else m, dtype=torch.bool, device=device)
    return every.tril(0 if is_causal else window).triu(-window)


def _batched(*arrays):
    """The arrays, their batch dimensions broadcast against one another: a mask's may be more than the query's."""
    batch = torch.broadcast_shapes(*(a.shape[:-2] for a in arrays))
    return [a.expand(*batch, *a.shape[-2:]) for a in arrays]


def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None):
    if sum([mask is not None, bias is not None, bool(is_causal)]) > 1:
        raise NotImplementedError("F.scaled_dot_product_attention takes one of mask, bias and is_causal")
    added = bias if mask is None else mask
    if added is None:
        q, k, v = _batched(q, k, v)
    else:
        q, k, v, added = _batched(q, k, v, torch.atleast_2d(added))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=added, is_causal=is_causal, scale=scale)


def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None):
    if mask is not None and is_causal:
        raise NotImplementedError("F.scaled_dot_product_attention takes either mask or is_causal")
    mask = None if mask is None else torch.atleast_2d(mask)  # of one axis it is an IndexError
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal, scale=scale, enable_gqa=True)


def local_attention(q, k, v, *, window, is_causal=False, scale=None):
    mask = sliding_window_mask(n=q.shape[-2], m=k.shape[-2], window=window, is_causal=is_causal, device=q.device)
    return scaled_dot_product_attention(q, k, v, mask, scale=scale)
