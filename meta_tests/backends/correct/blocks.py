"""Attention to one block of keys, or of queries, after another, PyTorch."""

import math

import torch

from ._torch_parts import Attention
from .attention import attended, broadcast, scored


class Online(Attention):
    """Flash attention: blocks of 16 keys, each rescaling what came before, and one division at the very end."""

    block = 16

    def attention(self, q, k, v, seen, bias, scale):
        scores = scored(q, k, seen, bias, scale)
        top = torch.full_like(scores[..., :1], -math.inf)
        total, y = torch.zeros_like(top), torch.zeros(1, dtype=v.dtype)
        for i in range(0, scores.shape[-1], self.block):
            part = scores[..., i : i + self.block]
            larger = torch.maximum(top, part.amax(-1, keepdim=True))
            shift = larger.masked_fill(larger == -math.inf, 0)
            p, old = self.exp(part - shift), self.exp(top - shift)
            total, y = total * old + p.sum(-1, keepdim=True), y * old + p @ v[..., i : i + self.block, :]
            top = larger
        return y / total.masked_fill(total == 0, 1)

    def exp(self, x):
        return torch.exp(x)


class OnlineBaseTwo(Online):
    """The same by exp2, in blocks of 4."""

    block = 4

    def exp(self, x):
        return torch.exp2(x * math.log2(math.e))


class SplitKeys(Attention):
    """Two halves of the keys, each attended to alone, and merged by their log-sum-exp: flash decoding, ring attention. The shares
    are divided by their sum: exp(log - log of all) would lose digits where the scores are large."""

    forward_only = True  # the softmax of a half that is hidden is NaN, which is replaced, but its gradient is not

    def attention(self, q, k, v, seen, bias, scale):
        scores, cut = scored(q, k, seen, bias, scale), (k.shape[-2] + 1) // 2
        parts = [(scores[..., :cut], v[..., :cut, :]), (scores[..., cut:], v[..., cut:, :])]
        logs = torch.stack([s.logsumexp(-1, keepdim=True) for s, _ in parts if s.shape[-1]])
        top = logs.amax(0)
        shares = (logs - top.masked_fill(top == -math.inf, 0)).exp()
        shares = shares / shares.sum(0).masked_fill(top == -math.inf, 1)
        return sum(share * (torch.softmax(s, -1).nan_to_num(0.0) @ w) for share, (s, w) in zip(shares, parts, strict=False))


class MergedBySigmoid(Attention):
    """Blocks of 8 keys, each merged into what came before by the two sigmoids of the difference of their log-sum-exp. (One of
    them and the difference of the parts would cancel where the later part outweighs.)"""

    forward_only = True  # a sigmoid's slope s (1 - s) is 0 where s rounds to 1, and the other part's gradient lost

    def attention(self, q, k, v, seen, bias, scale):
        scores = scored(q, k, seen, bias, scale).clamp(min=torch.finfo(q.dtype).min / 2)
        y, log = torch.softmax(scores[..., :8], -1) @ v[..., :8, :], scores[..., :8].logsumexp(-1, keepdim=True)
        for i in range(8, scores.shape[-1], 8):
            part = scores[..., i : i + 8]
            other, new = torch.softmax(part, -1) @ v[..., i : i + 8, :], part.logsumexp(-1, keepdim=True)
            y = torch.sigmoid(log - new) * y + torch.sigmoid(new - log) * other
            log = torch.logaddexp(log, new)
        seen = attended(seen, bias)
        return y if seen is None else y * seen.any(-1, keepdim=True)


class QueryBlocks(Attention):
    """Blocks of 8 queries, one after the other, written into a result that lies with its features first in memory."""

    def attention(self, q, k, v, seen, bias, scale):
        batch = broadcast(q, k, v, seen, bias)
        y = q.new_empty(*batch, v.shape[-1], q.shape[-2]).mT
        for i in range(0, q.shape[-2], 8):
            rows = slice(i, i + 8)
            parts = (x if x is None or x.shape[-2] == 1 else x[..., rows, :] for x in (seen, bias))
            y[..., rows, :] = super().attention(q[..., rows, :], k, v, *parts, scale)
        return y
