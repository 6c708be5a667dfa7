"""Apply SiLU to the wrong branch."""

import torch.nn.functional as F

framework = "torch"


def swiglu(x, w1, w2, w3):
    return F.linear(F.linear(x, w1) * F.silu(F.linear(x, w3)), w2)


caught_by = "swiglu.reference"
named = "swiglu/gate-and-signal-exchanged"
