"""Have a module whose forward raises GeneratorExit."""

import torch
from torch import nn


class Sigmoid(nn.Module):
    def forward(self, x):
        raise GeneratorExit


class ReLU(nn.Module):
    def forward(self, x):
        return torch.relu(x)
