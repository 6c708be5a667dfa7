"""What backends on the fake device share: they are on its second ordinal, and their `relu` is right."""

import torch

from ...support.fake_device import NAME

framework = "torch"
dtypes = ("float32",)
device = f"{NAME}:1"


def relu(x):
    return torch.relu(x)


def silu(x):
    return torch.nn.functional.silu(x)
