"""The matrix-valued optimizer of torch_cpu. 16-bit arguments are computed in float32."""

import torch

from ._torch_functions import in_float32


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
