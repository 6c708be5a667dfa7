"""MLX's loss, its AdamW and its clipping of gradients."""

import mlx.core as mx
from mlx import nn, optimizers


def cross_entropy(logits, targets, *, label_smoothing=0.0, reduction="mean"):
    with mx.stream(mx.cpu):
        return nn.losses.cross_entropy(logits, targets, label_smoothing=label_smoothing, reduction=reduction)


def gradient_clipping(gradients, *, max_norm):
    with mx.stream(mx.cpu):
        clipped, _ = optimizers.clip_grad_norm(list(gradients), max_norm)
        return clipped


def _make_adamw(learning_rate, beta1, beta2, eps, weight_decay):
    return optimizers.AdamW(learning_rate, [beta1, beta2], eps, weight_decay, bias_correction=True)


def adamw_step(
    parameter, gradient, first_moment, second_moment,
    *, step, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01,
):  # fmt: skip
    with mx.stream(mx.cpu):
        optimizer = _make_adamw(learning_rate, beta1, beta2, eps, weight_decay)
        optimizer.init({"p": parameter})
        optimizer.state |= {"step": mx.array(step - 1, mx.uint64), "p": {"m": first_moment, "v": second_moment}}
        updated = optimizer.apply_gradients({"p": gradient}, {"p": parameter})["p"]
        return updated, optimizer.state["p"]["m"], optimizer.state["p"]["v"]


def adamw_steps(parameter, gradients, *, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    with mx.stream(mx.cpu):
        optimizer, after = _make_adamw(learning_rate, beta1, beta2, eps, weight_decay), []
        for gradient in mx.moveaxis(gradients, -1, 0):
            parameter = optimizer.apply_gradients({"p": gradient}, {"p": parameter})["p"]
            after.append(parameter)
        return mx.stack(after, axis=-1)
