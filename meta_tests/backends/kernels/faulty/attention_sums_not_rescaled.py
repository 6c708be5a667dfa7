"""Rescale the sum of the weights when the maximum grows, and not the weighted sums of the values."""

from .._attention import *

operation = "scaled_dot_product_attention"
says = ("not rescaled",)


def scaled_dot_product_attention(q, k, v, *, is_causal=False, scale=None):
    return attend(q, k, v, is_causal, scale, RESCALED=False)
