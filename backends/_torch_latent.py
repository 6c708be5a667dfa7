"""The latent and sparse attentions of torch_cpu. All of it is float32 or wider."""

import torch

from ._torch_serving import attend


def sparse_attention(q, k, v, indices, sinks=None, *, scale=None, block_size=1):
    """The lists become a mask of all keys."""
    n, m = q.shape[-2], k.shape[-2]
    blocks = -(-m // block_size)
    listed = torch.zeros((*indices.shape[:-1], blocks + 1), dtype=torch.bool, device=q.device)
    listed.scatter_(-1, indices.long().masked_fill(indices < 0, blocks), True)  # the last place is that of -1
    seen = listed[..., :blocks].repeat_interleave(block_size, dim=-1)[..., :m]
    position = torch.arange(n, device=q.device)[:, None] + m - n
    seen = (seen & (torch.arange(m, device=q.device) <= position))[..., None, :, :]
    out, lse = attend(q, k, v, seen, sinks, scale, None)
    return out.to(q.dtype), lse
