"""Add the cotangent of each token to the row of its id, by atomic additions to zeros."""

from .embedding_gather import *

domain = limit_sizes("embedding", d=100)


@triton.jit
def gradient_kernel(cotangent, ids, gradient, d, BLOCK: tl.constexpr):
    token, at = tl.load(ids + tl.program_id(0).to(tl.int64)), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    c = tl.load(cotangent + tl.program_id(0).to(tl.int64) * d + at, mask=at < d, other=0.0)
    tl.atomic_add(gradient + token * d + at, c, mask=at < d)


def embedding_vjp(cotangent, token_ids, weight):
    ids, d = token_ids.contiguous(), weight.shape[1]
    gradient = weight.new_zeros(weight.shape)
    gradient_kernel[(ids.numel(), triton.cdiv(d, 32))](cotangent.contiguous(), ids, gradient, d, BLOCK=32)
    return None, gradient
