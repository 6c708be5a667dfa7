"""Under autocast, compute in the dtype of another device's autocast, which is float16."""

import torch

framework = "torch"
dtypes = ("float32",)
caught_by = "linear.states"


def linear(x, weight, bias=None):
    if torch.is_autocast_enabled("cpu"):
        x, weight = x.half(), weight.half()
        with torch.autocast("cpu", enabled=False):
            y = x @ weight.mT
            return y if bias is None else y + bias.half()
    y = x @ weight.mT
    return y if bias is None else y + bias
