"""Let the keys beyond the last one, which are read as zeros, have weights."""

from .._attention import *

operation = "scaled_dot_product_attention"
says = ("padded with zeros",)


def scaled_dot_product_attention(q, k, v, *, is_causal=False, scale=None):
    return attend(q, k, v, is_causal, scale, TAIL_MASKED=False)
