"""Take True in the mask for "do not attend"."""

import torch

framework = "torch"


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    return scores.softmax(-1) @ v


caught_by = "scaled_dot_product_attention.reference"
named = "scaled_dot_product_attention/mask-inverted"
