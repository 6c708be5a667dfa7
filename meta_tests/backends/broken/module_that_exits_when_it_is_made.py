"""Have a module whose constructor raises SystemExit."""

import torch
from torch import nn


class Sigmoid(nn.Module):
    def __init__(self):
        raise SystemExit(0)


class ReLU(nn.Module):
    def forward(self, x):
        return torch.relu(x)
