"""Custom operators that return their results, right."""

import torch
from torch import Tensor


@torch.library.custom_op("spec_tests_custom::rmsnorm", mutates_args=())
def rmsnorm(hidden_states: Tensor, gamma: Tensor, epsilon: float) -> Tensor:
    h = hidden_states.double()
    return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + epsilon) * gamma.double()).to(hidden_states.dtype)


@torch.library.custom_op("spec_tests_custom::softmax", mutates_args=())
def soft_max(x: Tensor, dim: int) -> Tensor:
    return torch.softmax(x.double(), dim).to(x.dtype)
