"""The latent and sparse attentions of torch_cpu. All of it is float32 or wider."""

import torch

from ._torch_functions import _widened
from ._torch_serving import attend, listed


def _seen_rows(q, m, lengths, is_causal):
    """Which of m rows each query sees, for all heads: its own position is lengths - n + i."""
    n, row = q.shape[-2], torch.arange(m, device=q.device)
    lengths = torch.full(q.shape[:-3], m, device=q.device) if lengths is None else lengths
    lengths = lengths[..., None, None, None]
    seen = row < lengths
    return seen & (row <= lengths - n + torch.arange(n, device=q.device)[:, None]) if is_causal else seen


def _held(x, lengths):
    """The rows that lengths count; what lies beyond is no row."""
    return (
        x if lengths is None else x.masked_fill((torch.arange(x.shape[-2], device=x.device) >= lengths[..., None])[..., None], 0)
    )


def latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, lengths=None, *, is_causal=True, scale=None):
    """The absorbed form: queries take w_uk, all heads attend to the latents, and w_uv comes last."""
    dtype = q_nope.dtype
    scale = (q_nope.shape[-1] + q_rope.shape[-1]) ** -0.5 if scale is None else scale
    seen = _seen_rows(q_nope, latent.shape[-2], lengths, is_causal)
    q_nope, q_rope, latent, k_rope, w_uk, w_uv = _widened((q_nope, q_rope, latent, k_rope, w_uk, w_uv))
    q = torch.cat([q_nope @ w_uk, q_rope], dim=-1)
    cache = torch.cat([_held(latent, lengths), _held(k_rope, lengths)], dim=-1)[..., None, :, :]
    out, lse = attend(q, cache, cache[..., : latent.shape[-1]], seen, None, scale, None)
    return (out @ w_uv.mT).to(dtype), lse


def latent_attention_absorbed(q, cache, lengths=None, block_table=None, *, rank, scale, is_causal=True):
    if block_table is not None:
        cache = cache[listed(block_table, lengths, cache.shape[1])].flatten(1, 2)
    rows = _held(cache, lengths)[..., None, :, :]
    out, lse = attend(q, rows, rows[..., :rank], _seen_rows(q, cache.shape[-2], lengths, is_causal), None, scale, None)
    return out.to(q.dtype), lse


def sparse_attention(q, k, v, indices, sinks=None, *, scale=None, block_size=1):
    """The lists become a mask of all keys."""
    n, m = q.shape[-2], k.shape[-2]
    blocks = -(-m // block_size)
    listed = torch.zeros((*indices.shape[:-1], blocks + 1), dtype=torch.bool, device=q.device)
    listed.scatter_(-1, indices.long().masked_fill(indices < 0, blocks), True)  # the last place is that of -1
    seen = listed[..., :blocks].repeat_interleave(block_size, dim=-1)[..., :m]
    position = torch.arange(n, device=q.device)[:, None] + m - n
    seen = seen & (torch.arange(m, device=q.device) <= position)
    seen = seen.repeat_interleave(q.shape[-3] // k.shape[-3], dim=-3) if seen.ndim == q.ndim else seen[..., None, :, :]
    out, lse = attend(q, k, v, seen, sinks, scale, None)
    return out.to(q.dtype), lse


def indexer_scores(q, k, weights, *, is_causal=True, activation="relu"):
    q, k, weights = _widened((q, k, weights))
    products = torch.einsum("...nhd,...md->...nhm", q, k)
    products = products.relu() if activation == "relu" else products
    scores = (weights[..., None, :] @ products)[..., 0, :]
    n, m = scores.shape[-2:]
    hidden = torch.arange(m, device=q.device) > torch.arange(n, device=q.device)[:, None] + m - n
    return scores.masked_fill(hidden, -torch.inf) if is_causal else scores


def select_keys(scores, *, k):
    values, chosen = scores.topk(min(k, scores.shape[-1]), dim=-1)
    chosen = chosen.masked_fill(values == -torch.inf, -1)
    return torch.nn.functional.pad(chosen, (0, k - chosen.shape[-1]), value=-1)
