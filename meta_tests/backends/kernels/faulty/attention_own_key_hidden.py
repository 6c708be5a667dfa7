"""Under causality hide the query's own key, too, but for the first query."""

from .._attention import *

operation = "scaled_dot_product_attention"
says = ("own key",)


def scaled_dot_product_attention(q, k, v, *, is_causal=False, scale=None):
    return attend(q, k, v, is_causal, scale, OWN=False)
