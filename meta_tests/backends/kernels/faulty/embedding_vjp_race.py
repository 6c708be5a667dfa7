"""Load the sum of a row, add the cotangent and store it, while other programs do the same."""

from ..right.embedding_vjp_atomic import *

operation = "embedding_vjp"
says = ("the same call has several answers",)
needs = "a GPU"


@triton.jit
def racing_kernel(cotangent, ids, gradient, d, BLOCK: tl.constexpr):
    token, at = tl.load(ids + tl.program_id(0)), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    c = tl.load(cotangent + tl.program_id(0).to(tl.int64) * d + at, mask=at < d, other=0.0)
    tl.store(gradient + token * d + at, tl.load(gradient + token * d + at, mask=at < d, other=0.0) + c, mask=at < d)


def embedding_vjp(cotangent, token_ids, weight):
    ids, d = token_ids.contiguous(), weight.shape[1]
    gradient = weight.new_zeros(weight.shape)
    racing_kernel[(ids.numel(), triton.cdiv(d, 32))](cotangent.contiguous(), ids, gradient, d, BLOCK=32)
    return None, gradient
