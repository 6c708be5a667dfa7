"""Attention over whole rows of scores, computed in every usual way, PyTorch."""

import math

import torch

from ._torch_parts import Attention


def scored(q, k, seen, bias, scale):
    """The scaled, biased and masked scores."""
    scores = q @ k.mT * scale
    scores = scores if bias is None else scores + bias
    return scores if seen is None else scores.masked_fill(~seen, -math.inf)


def attended(seen, bias):
    """The keys that a query attends to: those that the mask shows, and whose bias is not minus infinity."""
    if bias is None:
        return seen
    return bias != -math.inf if seen is None else seen & (bias != -math.inf)


def broadcast(*arrays):
    """The batch dimensions of all."""
    return torch.broadcast_shapes(*(x.shape[:-2] for x in arrays if x is not None))


class Einsum(Attention):
    """Both products by einsum, and a mask added as a bias of minus infinity."""

    def attention(self, q, k, v, seen, bias, scale):
        scores = torch.einsum("...nd,...md->...nm", q * scale, k)
        for added in (bias, None if seen is None else torch.zeros(seen.shape).masked_fill(~seen, -math.inf)):
            scores = scores if added is None else scores + added
        return torch.einsum("...nm,...me->...ne", torch.softmax(scores, -1).nan_to_num(0.0), v)


class OnlineScaledBaseTwo(Attention):
    """exp2 of x log2 e less the maximum times log2 e, each rounded by itself: the shift's own rounding is common to a row."""

    def attention(self, q, k, v, seen, bias, scale):
        scores = scored(q, k, seen, bias, scale)
        top = scores.amax(-1, keepdim=True)
        top = top.masked_fill(top == -math.inf, 0) * math.log2(math.e)
        p = torch.exp2(torch.addcmul(-top, scores, torch.full_like(scores, math.log2(math.e))))
        total = p.sum(-1, keepdim=True)
        return p @ v * total.masked_fill(total == 0, 1).reciprocal()


class LowestNumber(Attention):
    """Masked scores are the lowest finite number, whose exponential vanishes beside any other; rows without a key are zeroed."""

    def attention(self, q, k, v, seen, bias, scale):
        scores, seen = scored(q, k, None, bias, scale), attended(seen, bias)
        if seen is None:
            return torch.softmax(scores, -1) @ v
        p = torch.softmax(scores.masked_fill(~seen, torch.finfo(scores.dtype).min), -1)
        return p * seen.any(-1, keepdim=True) @ v


class MultipliedMask(Attention):
    """The exponentials times the mask as numbers, the maximum being taken over the seen keys alone."""

    forward_only = True  # an exponential overflows, or a maximum ties

    def attention(self, q, k, v, seen, bias, scale):
        scores = scored(q, k, seen, bias, scale)
        top = scores.amax(-1, keepdim=True)
        e = torch.exp(scored(q, k, None, bias, scale).minimum(top) - top.masked_fill(top == -math.inf, 0))
        e = e if seen is None else e * seen
        return e @ v / e.sum(-1, keepdim=True).clamp(min=torch.finfo(e.dtype).tiny)


class WrittenOut(Attention):
    """The softmax of textbooks: its gradient passes through the maximum too, which is not detached, and through a quotient."""

    def attention(self, q, k, v, seen, bias, scale):
        scores = scored(q, k, seen, bias, scale)
        top = scores.max(-1, keepdim=True).values
        e = torch.exp(scores - top.masked_fill(top == -math.inf, 0))
        total = e.sum(-1, keepdim=True)
        return e / total.masked_fill(total == 0, 1) @ v


class ScaleOnEachSide(Attention):
    """The root of the scale on the queries and on the keys, its sign on the queries."""

    def attention(self, q, k, v, seen, bias, scale):
        root = math.sqrt(abs(scale))
        return super().attention(q * math.copysign(root, scale), k * root, v, seen, bias, 1.0)


class ScaleOnTheKeys(Attention):
    """The keys are scaled, once for all queries; and the sum divides after the product with the values."""

    def attention(self, q, k, v, seen, bias, scale):
        scores = scored(q, k * scale, seen, bias, 1.0)
        top = scores.amax(-1, keepdim=True)
        e = torch.exp(scores - top.masked_fill(top == -math.inf, 0))
        total = e.sum(-1, keepdim=True)
        return (e @ v) / total.masked_fill(total == 0, 1)


class LoopOverHeads(Attention):
    """Every matrix of the batch by itself; the results are stacked."""

    def attention(self, q, k, v, seen, bias, scale):
        batch = broadcast(q, k, v, seen, bias)
        count = math.prod(batch)
        flat = [
            None if x is None else x.expand(*batch, *x.shape[-2:]).reshape(count, *x.shape[-2:]) for x in (q, k, v, seen, bias)
        ]
        if not count:
            return q.new_zeros(*batch, q.shape[-2], v.shape[-1])
        one = super().attention
        parts = [one(*(None if x is None else x[i] for x in flat), scale) for i in range(count)]
        return torch.stack(parts).reshape(*batch, *parts[0].shape)


class KeysOfEachQuery(Attention):
    """Each query gathers the keys that it sees, and attends to these alone: what is hidden is never read."""

    def attention(self, q, k, v, seen, bias, scale):
        if seen is None:
            return super().attention(q, k, v, seen, bias, scale)
        n, m = q.shape[-2], k.shape[-2]
        batch = broadcast(q, k, v, seen, bias)
        q, k, v = (x.expand(*batch, *x.shape[-2:]) for x in (q, k, v))
        seen = seen.expand(*batch, n, m)
        most = int(seen.sum(-1).max()) if seen.numel() else 0
        if most == 0:
            return q.new_zeros(*batch, n, v.shape[-1])
        order = seen.to(torch.uint8).argsort(dim=-1, descending=True, stable=True)[..., :most]
        index = order.flatten(-2)[..., None]
        near_k, near_v = (x.gather(-2, index.expand(*index.shape[:-1], x.shape[-1])).unflatten(-2, (n, most)) for x in (k, v))
        near = {"seen": seen.gather(-1, order)[..., None, :], "bias": None}
        if bias is not None:
            near["bias"] = bias.expand(*batch, n, m).gather(-1, order)[..., None, :]
        return super().attention(q[..., None, :], near_k, near_v, **near, scale=scale).squeeze(-2)
