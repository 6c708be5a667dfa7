"""The matrix-valued optimizer of torch_cpu. 16-bit arguments are computed in float32."""

import math

import torch

from ._torch_functions import _widened, in_float32


@in_float32
def newton_schulz(x, *, steps=5, coefficients=(3.4445, -4.775, 2.0315), eps=1e-7):
    a, b, c = coefficients
    y = x / (torch.linalg.matrix_norm(x, keepdim=True) + eps)
    for _ in range(steps):
        if x.shape[-2] > x.shape[-1]:
            gram = y.mT @ y
            y = a * y + y @ (b * gram + c * gram @ gram)
        else:
            gram = y @ y.mT
            y = a * y + (b * gram + c * gram @ gram) @ y
    return y


def muon_step(
    parameter, gradient, momentum_buffer,
    *, learning_rate, momentum=0.95, nesterov=True, weight_decay=0.0, adjust="original",
    steps=5, coefficients=(3.4445, -4.775, 2.0315), eps=1e-7,
):  # fmt: skip
    dtype, (parameter, gradient, momentum_buffer) = parameter.dtype, _widened((parameter, gradient, momentum_buffer))
    averaged = momentum * momentum_buffer + (1 - momentum) * gradient
    y = momentum * averaged + (1 - momentum) * gradient if nesterov else averaged
    rows, columns = parameter.shape
    factor = math.sqrt(max(1, rows / columns)) if adjust == "original" else 0.2 * math.sqrt(max(rows, columns))
    update = newton_schulz(y, steps=steps, coefficients=coefficients, eps=eps)
    after = parameter * (1 - learning_rate * weight_decay) - learning_rate * factor * update
    return after.to(dtype), averaged.to(dtype)
