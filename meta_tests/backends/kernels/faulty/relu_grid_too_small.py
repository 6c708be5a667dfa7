"""Launch as many programs as there are whole blocks of 32."""

from ..right.relu_flat import *

operation = "relu"
says = ("never written", "whole blocks of 32")


def relu(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel[(x.numel() // 32,)](x, y, x.numel(), BLOCK=32)
    return y
