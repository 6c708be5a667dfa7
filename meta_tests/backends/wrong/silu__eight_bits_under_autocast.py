"""Under autocast, store the argument in 8 bits, whose range and precision are less than those of autocast's dtype."""

import torch
import torch.nn.functional as F

framework = "torch"
dtypes = ("float32",)
caught_by = "silu.states"


def silu(x):
    if torch.is_autocast_enabled("cpu"):
        x = x.to(torch.float8_e4m3fn).to(torch.bfloat16)
    return F.silu(x)
