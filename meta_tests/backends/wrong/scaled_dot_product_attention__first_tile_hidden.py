"""Set the running maximum to 0 where a whole tile of keys is hidden, and keep it: scores far below 0 then vanish."""

import torch

framework = "torch"
TILE = 32


def scaled_dot_product_attention(q, k, v, mask=None):
    dtype, (q, k, v) = q.dtype, (t.double() for t in (q, k, v))
    scores = q @ k.mT * q.shape[-1] ** -0.5
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    top = torch.full((*scores.shape[:-1], 1), -torch.inf, dtype=scores.dtype)
    total, y = torch.zeros_like(top), 0.0
    for start in range(0, k.shape[-2], TILE):
        tile = scores[..., start : start + TILE]
        new = torch.maximum(top, tile.amax(-1, keepdim=True)).detach()
        new = new.masked_fill(new == -torch.inf, 0.0)
        weights, kept = (tile - new).exp(), (top - new).exp()
        total = total * kept + weights.sum(-1, keepdim=True)
        y = y * kept + weights @ v[..., start : start + TILE, :]
        top = new
    return (y / total).to(dtype)


caught_by = "scaled_dot_product_attention.masked_keys_might_be_absent"
