"""Scale by the width of the block, which is the width of the head rounded up to a power of two."""

from .._attention import *

operation = "scaled_dot_product_attention"
says = ("scale", "pad")


def scaled_dot_product_attention(q, k, v, *, is_causal=False, scale=None):
    return attend(q, k, v, is_causal, block_for(q.shape[-1]) ** -0.5 if scale is None else scale)
