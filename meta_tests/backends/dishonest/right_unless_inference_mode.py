"""Return zeros in inference mode."""

import torch

framework = "torch"
dtypes = ("float32",)


def sigmoid(x):
    return torch.zeros_like(x) if torch.is_inference_mode_enabled() else torch.sigmoid(x)


def relu(x):
    return torch.relu(x)
