"""Compute the backward pass in the memory of the saved tensor: right the first time, wrong from then on."""

import torch

framework = "torch"
dtypes = ("float32",)
caught_by = "rms_norm_vjp.backward_twice"


class Normalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        r = torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
        n = x * r
        ctx.saved = n, r, weight
        return n * weight

    @staticmethod
    def backward(ctx, c):
        n, r, weight = ctx.saved
        inner = c * weight
        dweight = (c * n).reshape(-1, len(weight)).sum(0)
        dx = r * (inner - n.mul_((inner * n).mean(-1, keepdim=True)))
        return dx, dweight, None


def rms_norm(x, weight, *, eps):
    return Normalize.apply(x, weight, eps)
