"""Give jvp the tangent of x · σ(x) without that of σ. Results and gradients are right."""

import torch

framework = "torch"
dtypes = ("float32", "float64")
caught_by = "silu_vjp.tangent"


class Silu(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * torch.sigmoid(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, cotangent):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return cotangent * s * (1 + x * (1 - s))

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * torch.sigmoid(x)


def silu(x):
    return Silu.apply(x)
