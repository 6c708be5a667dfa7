"""Add the gradient to the one that the weight already has, which the framework does again."""

import torch

framework = "torch"
dtypes = ("float32",)
caught_by = "linear_vjp.accumulates"


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.mT

    @staticmethod
    def backward(ctx, c):
        x, weight = ctx.saved_tensors
        dweight = c.reshape(-1, c.shape[-1]).mT @ x.reshape(-1, x.shape[-1])
        return c @ weight, dweight if weight.grad is None else weight.grad + dweight


def linear(x, weight):
    return Product.apply(x, weight)
