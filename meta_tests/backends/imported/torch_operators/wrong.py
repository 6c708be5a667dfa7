"""Custom operators with bugs, and one whose argument is not known."""

import torch
from torch import Tensor


@torch.library.custom_op("spec_tests_wrong::layer_norm", mutates_args=())
def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, unbiased=False) + eps) * weight + bias


@torch.library.custom_op("spec_tests_wrong::attention", mutates_args=())
def attention(query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
    return torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, -1) @ value


@torch.library.custom_op("spec_tests_wrong::relu", mutates_args=())
def rectify(x: Tensor, threshold: float) -> Tensor:
    return x.clamp(min=threshold)
