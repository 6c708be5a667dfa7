"""Add the first 16 biases to every block of 16 outputs."""

from ..right.linear_tiles import *

operation = "linear"
says = ("bias", "16")


def repeat_first(bias):
    return bias[torch.arange(len(bias), device=bias.device) % 16]


right_linear = linear


def linear(x, weight, bias=None):
    return right_linear(x, weight, None if bias is None else repeat_first(bias))
