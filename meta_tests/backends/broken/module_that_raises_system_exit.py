"""Have a module whose forward raises SystemExit."""

import torch
from torch import nn


class Sigmoid(nn.Module):
    def forward(self, x):
        raise SystemExit(0)


class ReLU(nn.Module):
    def forward(self, x):
        return torch.relu(x)
