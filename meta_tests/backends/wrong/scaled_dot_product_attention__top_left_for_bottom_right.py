"""State bottom-right alignment, but align top-left."""

import torch

framework = "torch"
conventions = {"causal_alignment": "bottom-right"}


def scaled_dot_product_attention(q, k, v, *, is_causal=False):
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -torch.inf)
    return scores.softmax(-1) @ v


caught_by = "scaled_dot_product_attention.causal_alignment"
