"""Attention without a mask, in which the scores are divided by the width and not by its root."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, Q, K, V):
        return nn.functional.scaled_dot_product_attention(Q, K, V)


class ModelNew(nn.Module):
    def forward(self, Q, K, V):
        return torch.softmax(Q @ K.mT / Q.shape[-1], dim=-1) @ V


def get_inputs():
    return [torch.rand(32, 32, 512, 1024, device="cuda", dtype=torch.float16) for _ in range(3)]


def get_init_inputs():
    return []
