"""Where autograd sees a functional tensor, use one that was rounded to 16 bits: the gradients of torch.func.vjp are coarse."""

import torch
import torch.nn.functional as F

framework = "torch"
dtypes = ("float32",)
caught_by = "silu_vjp.transforms"


def silu(x):
    if torch._C._functorch.is_gradtrackingtensor(x):
        x = x.to(torch.float16).to(torch.float32)
    return F.silu(x)
