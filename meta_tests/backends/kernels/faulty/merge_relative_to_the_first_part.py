"""Merge two parts of an attention by exponentials of the differences from the first lse, which overflow."""

from .._parts import *

domain = limit_sizes("merge_attention_states")

operation = "merge_attention_states"
says = ("maximum", "lse_a")


@triton.jit
def kernel(a, s, b, t, y, u, d, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    left, right = tl.load(s + row), tl.load(t + row)
    shift = tl.where(left == float("-inf"), tl.where(right == float("-inf"), 0.0, right), left)
    p, r = tl.exp(left - shift), tl.exp(right - shift)
    total = p + r
    whole = tl.where(total == 0, 1.0, total)
    tl.store(u + row, tl.where(total == 0, float("-inf"), shift + tl.log(whole)))
    for start in range(0, d, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(a + row * d + at, mask=at < d, other=0.0)
        z = tl.load(b + row * d + at, mask=at < d, other=0.0)
        tl.store(y + row * d + at, (tl.where(p > 0, p * x, 0.0) + tl.where(r > 0, r * z, 0.0)) / whole, mask=at < d)


def merge_attention_states(out_a, lse_a, out_b, lse_b):
    out_a, lse_a, out_b, lse_b = (x.contiguous() for x in (out_a, lse_a, out_b, lse_b))
    y, u = torch.empty_like(out_a), torch.empty_like(lse_a)
    kernel[(lse_a.numel(),)](out_a, lse_a, out_b, lse_b, y, u, out_a.shape[-1], BLOCK=32)
    return y, u
