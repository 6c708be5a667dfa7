"""Read the state before the token itself is written to it."""

from .._parts import *

operation = "linear_attention"
says = ("before its own token is written",)
domain = limit_sizes("linear_attention", n=30, d_k=16, d_v=16)


@triton.jit
def kernel(q, k, v, y, last, n, heads, group, d_k, d_v, scale, WIDE_K: tl.constexpr, WIDE_V: tl.constexpr):
    head = tl.program_id(0).to(tl.int64)
    shared = ((head // heads) * (heads // group) + head % heads // group) * n
    x, z = tl.arange(0, WIDE_K), tl.arange(0, WIDE_V)
    state = tl.zeros((WIDE_K, WIDE_V), tl.float32)
    for t in range(0, n):
        key = tl.load(k + (shared + t) * d_k + x, mask=x < d_k, other=0.0)
        query = tl.load(q + (shared + t) * d_k + x, mask=x < d_k, other=0.0)
        value = tl.load(v + (head * n + t) * d_v + z, mask=z < d_v, other=0.0)
        tl.store(y + (head * n + t) * d_v + z, tl.sum(query[:, None] * state, axis=0) * scale, mask=z < d_v)
        state += key[:, None] * value[None, :]
    place = last + head * d_k * d_v + x[:, None] * d_v + z[None, :]
    tl.store(place, state, mask=(x[:, None] < d_k) & (z[None, :] < d_v))


def linear_attention(q, k, v, *, scale=None):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    heads, n, d_v, d_k = *v.shape[-3:], k.shape[-1]
    y, last = torch.empty_like(v), v.new_empty(*v.shape[:-2], d_k, d_v)
    sizes = n, heads, heads // k.shape[-3], d_k, d_v, d_k**-0.5 if scale is None else scale
    kernel[(math.prod(v.shape[:-2]),)](q, k, v, y, last, *sizes, WIDE_K=block_for(d_k), WIDE_V=block_for(d_v))
    return y, last
