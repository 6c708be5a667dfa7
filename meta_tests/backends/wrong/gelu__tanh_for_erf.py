"""Compute the tanh approximation when the exact form is asked for."""

import torch

framework = "torch"


def gelu(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


caught_by = "gelu.reference"
named = "gelu/tanh-for-erf"
