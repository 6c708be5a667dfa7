"""Add the cotangents to memory that was not set to 0."""

from ..right.embedding_vjp_atomic import *

operation = "embedding_vjp"
says = ("added to what free memory held",)


def embedding_vjp(cotangent, token_ids, weight):
    ids, d = token_ids.contiguous(), weight.shape[1]
    gradient = weight.new_empty(weight.shape)
    gradient_kernel[(ids.numel(), triton.cdiv(d, 32))](cotangent.contiguous(), ids, gradient, d, BLOCK=32)
    return None, gradient
