"""Keep the weight's gradient in a buffer that every backward pass over a weight of this shape reuses."""

import torch

framework = "torch"
dtypes = ("float32",)
caught_by = "linear_vjp.repeatable"
BUFFERS = {}


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.mT

    @staticmethod
    def backward(ctx, c):
        x, weight = ctx.saved_tensors
        buffer = BUFFERS.setdefault(weight.shape, torch.empty_like(weight))
        rows = c.reshape(-1, c.shape[-1])
        return c @ weight, torch.mm(rows.mT, x.reshape(-1, x.shape[-1]), out=buffer)


def linear(x, weight):
    return Product.apply(x, weight)
