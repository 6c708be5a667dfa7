"""Return a fake tensor, which has no values."""

import torch
from torch._subclasses import FakeTensorMode

framework = "torch"
dtypes = ("float32",)


def sigmoid(x):
    return FakeTensorMode().from_tensor(torch.sigmoid(x.detach()))


def relu(x):
    return torch.relu(x)
