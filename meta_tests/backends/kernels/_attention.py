"""An attention with an online softmax, in which each of several faults can be turned on."""

from ._parts import *

domain = limit_sizes("scaled_dot_product_attention", n=40, m=40, d_k=32, d_v=32)


@triton.jit
def kernel(
    q, k, v, y, n, m, d_k, d_v, scale, CAUSAL: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    WIDE_K: tl.constexpr, WIDE_V: tl.constexpr, RESCALED: tl.constexpr, OWN: tl.constexpr, TAIL_MASKED: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(0).to(tl.int64)
    i, x, z = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None], tl.arange(0, WIDE_K), tl.arange(0, WIDE_V)[None, :]
    queries = tl.load(q + batch * n * d_k + i * d_k + x[None, :], mask=(i < n) & (x[None, :] < d_k), other=0.0)
    top, total = tl.full((ROWS, 1), float("-inf"), tl.float32), tl.zeros((ROWS, 1), tl.float32)
    sums = tl.zeros((ROWS, WIDE_V), tl.float32)
    for start in range(0, m, KEYS):
        j, down = start + tl.arange(0, KEYS)[None, :], start + tl.arange(0, KEYS)[:, None]
        keys = tl.load(k + batch * m * d_k + j * d_k + x[:, None], mask=(j < m) & (x[:, None] < d_k), other=0.0)
        values = tl.load(v + batch * m * d_v + down * d_v + z, mask=(down < m) & (z < d_v), other=0.0)
        seen = (j < m) & (i >= 0) if TAIL_MASKED else (j >= 0) & (i >= 0)
        if CAUSAL:
            seen = seen & ((j <= i) if OWN else (j < i) | (j == 0))
        scores = tl.where(seen, tl.dot(queries, keys, input_precision="ieee") * scale, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, axis=1, keep_dims=True))
        weights, fade = tl.exp(scores - higher), tl.exp(top - higher)
        total = total * fade + tl.sum(weights, axis=1, keep_dims=True)
        sums = sums * (fade if RESCALED else 1.0) + tl.dot(weights, values, input_precision="ieee")
        top = higher
    tl.store(y + batch * n * d_v + i * d_v + z, sums / total, mask=(i < n) & (z < d_v))


def attend(q, k, v, is_causal, scale, RESCALED=True, OWN=True, TAIL_MASKED=True):
    batch = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v = (a.expand(*batch, *a.shape[-2:]).contiguous() for a in (q, k, v))
    n, m, d_k, d_v = q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]
    y = q.new_empty(*batch, n, d_v)
    blocks = {"ROWS": 16, "KEYS": 16, "WIDE_K": max(block_for(d_k), 16), "WIDE_V": max(block_for(d_v), 16)}
    faults = {"RESCALED": RESCALED, "OWN": OWN, "TAIL_MASKED": TAIL_MASKED}
    scale = d_k**-0.5 if scale is None else scale
    kernel[(math.prod(batch), triton.cdiv(n, 16))](q, k, v, y, n, m, d_k, d_v, scale, CAUSAL=is_causal, **blocks, **faults)
    return y
