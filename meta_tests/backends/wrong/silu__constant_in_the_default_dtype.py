"""Multiply by an array of ones that has the default dtype, so that the result has it as well where it is the wider one."""

import torch
import torch.nn.functional as F

framework = "torch"
dtypes = ("float32",)
caught_by = "silu.states"


def silu(x):
    return F.silu(x) * torch.ones(x.shape)
