"""Have a module whose forward raises KeyboardInterrupt."""

import torch
from torch import nn


class Sigmoid(nn.Module):
    def forward(self, x):
        raise KeyboardInterrupt


class ReLU(nn.Module):
    def forward(self, x):
        return torch.relu(x)
