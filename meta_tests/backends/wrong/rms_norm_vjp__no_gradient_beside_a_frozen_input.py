"""Leave out the gradient of the weight where x needs none, as in a network whose first layers are frozen."""

import torch

framework = "torch"
dtypes = ("float32",)
caught_by = "rms_norm_vjp.states"


class Normalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        r = torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x * r, r, weight)
        return x * r * weight

    @staticmethod
    def backward(ctx, c):
        n, r, weight = ctx.saved_tensors
        if not ctx.needs_input_grad[0]:
            return None, None, None
        inner = c * weight
        dweight = (c * n).reshape(-1, len(weight)).sum(0)
        return r * (inner - n * (inner * n).mean(-1, keepdim=True)), dweight, None


def rms_norm(x, weight, *, eps):
    return Normalize.apply(x, weight, eps)
