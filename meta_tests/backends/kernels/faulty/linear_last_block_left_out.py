"""End the loop over the inner dimension after its last whole block of 16."""

from .linear_from_the_second_block import *

operation = "linear"
says = ("last whole block of 16",)


def linear(x, weight, bias=None):
    return multiply(x, weight, bias, 0, 15)
