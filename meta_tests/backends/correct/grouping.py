"""Shared heads and windows computed without repeating or masking, and each kernel of PyTorch's own attention."""

import math

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ._torch_parts import Attention, widely
from .attention import broadcast


class GroupsAsRows(Attention):
    """The query heads of a group are more queries of one head: no key is repeated."""

    @widely
    def grouped_query_attention(self, q, k, v, mask=None, *, is_causal=False, scale=None):
        h, n, m, shared = q.shape[-3], q.shape[-2], k.shape[-2], k.shape[-3]
        seen = torch.ones(n, m, dtype=torch.bool)
        seen = seen.tril(m - n) if is_causal else seen
        seen = seen if mask is None else seen & mask
        seen = seen.expand(*torch.broadcast_shapes(seen.shape, (h, n, m))).unflatten(-3, (shared, h // shared)).flatten(-3, -2)
        rows = q.unflatten(-3, (shared, h // shared)).flatten(-3, -2)
        y = self.scaled_dot_product_attention(rows, k, v, seen, scale=scale)
        return y.unflatten(-2, (h // shared, n)).flatten(-4, -3)


class GroupsAsViews(Attention):
    """Keys and values are viewed once for each query head of the group, by an axis of stride 0."""

    @widely
    def grouped_query_attention(self, q, k, v, mask=None, *, is_causal=False, scale=None):
        h, shared = q.shape[-3], k.shape[-3]
        if mask is not None:
            mask = mask.expand(*torch.broadcast_shapes(mask.shape, (h, 1, 1))).unflatten(-3, (shared, h // shared))
        q = q.unflatten(-3, (shared, h // shared))
        y = self.scaled_dot_product_attention(q, k[..., None, :, :], v[..., None, :, :], mask, is_causal=is_causal, scale=scale)
        return y.flatten(-4, -3)


class WindowAlone(Attention):
    """Each query is given the keys of its window alone, the ends padded by hidden zeros; and heads of a group in a loop."""

    @widely
    def local_attention(self, q, k, v, *, window, is_causal=False, scale=None):
        n, m = q.shape[-2], k.shape[-2]
        window = min(window, n + m)
        place = torch.arange(n)[:, None] + torch.arange(-window, 1 if is_causal else window + 1)
        there = (place >= 0) & (place < m)
        near_k, near_v = (x[..., place.clamp(0, m - 1), :] for x in (k, v))
        return self.scaled_dot_product_attention(q[..., None, :], near_k, near_v, there[:, None, :], scale=scale).squeeze(-2)

    @widely
    def grouped_query_attention(self, q, k, v, mask=None, *, is_causal=False, scale=None):
        group = q.shape[-3] // k.shape[-3]
        heads = []
        for i in range(q.shape[-3]):
            own = mask if mask is None or mask.ndim < 3 else mask[..., i if mask.shape[-3] > 1 else 0, :, :]
            parts = (x[..., j, :, :] for x, j in ((q, i), (k, i // group), (v, i // group)))
            heads.append(self.scaled_dot_product_attention(*parts, own, is_causal=is_causal, scale=scale))
        return torch.stack(heads, -3)


class HeadsLast(Attention):
    """Tokens before heads in memory, (..., n, h, d), as projections leave them."""

    @widely
    def grouped_query_attention(self, q, k, v, mask=None, *, is_causal=False, scale=None):
        q, k, v = (x.transpose(-2, -3).contiguous() for x in (q, k, v))
        k, v = (x.repeat_interleave(q.shape[-2] // x.shape[-2], dim=-2) for x in (k, v))
        scores = torch.einsum("...nhd,...mhd->...hnm", q, k) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool)
        seen = seen.tril(scores.shape[-1] - scores.shape[-2]) if is_causal else seen
        scores = scores.masked_fill(~(seen if mask is None else seen & mask), -math.inf)
        y = torch.einsum("...hnm,...mhd->...nhd", scores.softmax(-1).nan_to_num(0.0), v)
        return y.transpose(-2, -3)


class MathKernel(Attention):
    """F.scaled_dot_product_attention by its math kernel, in the dtype that it is given."""

    kernel = SDPBackend.MATH

    def enter(self, x):
        return x

    def attention(self, q, k, v, seen, bias, scale):
        batch = broadcast(q, k, v, seen, bias)
        q, k, v, seen, bias = (None if x is None else x.expand(*batch, *x.shape[-2:]) for x in (q, k, v, seen, bias))
        if seen is not None and bias is not None:
            bias, seen = bias.masked_fill(~seen, -math.inf), None
        with sdpa_kernel(self.kernel):
            return F.scaled_dot_product_attention(q, k, v, seen if bias is None else bias, scale=scale)


class FlashKernel(MathKernel):
    """F.scaled_dot_product_attention by its flash kernel, all batch dimensions taken for heads; it wants q, k and v of one width,
    so that the shorter are padded with zeros."""

    kernel = SDPBackend.FLASH_ATTENTION

    def attention(self, q, k, v, seen, bias, scale):
        batch = broadcast(q, k, v, seen, bias)
        n, m, width = q.shape[-2], k.shape[-2], max(q.shape[-1], v.shape[-1])
        if 0 in (*batch, n):
            return q.new_zeros(*batch, n, v.shape[-1])
        padded = (F.pad(x, (0, width - x.shape[-1])).expand(*batch, -1, width) for x in (q, k, v))
        shaped = [x.reshape(1, -1, x.shape[-2], width).clone(memory_format=torch.contiguous_format) for x in padded]
        if seen is not None or bias is not None:
            added = torch.zeros((), dtype=q.dtype) if bias is None else bias
            added = added if seen is None else torch.where(seen, added, -math.inf)
            bias = added.expand(*batch, n, m).reshape(1, -1, n, m)
        learned = bias is not None and bias.requires_grad  # this kernel has no gradient for it
        with sdpa_kernel(SDPBackend.MATH if learned else self.kernel):
            y = F.scaled_dot_product_attention(*shaped, bias, scale=scale)
        return y.reshape(*batch, n, width)[..., : v.shape[-1]].clone()
