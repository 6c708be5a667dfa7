"""Latent attention, sparse attention and an indexer as kernels compute them: absorbed and unfused, gathered, in parts."""

import torch

PART = 5  # rows at a time


def _scores(q, k, scale):
    return (q @ k.mT) * scale


def _online(q, k, v, seen, scale):
    """One pass over the rows in parts, in float32, with powers of two."""
    bits = 1.4426950408889634
    top = torch.full((*q.shape[:-1], 1), -torch.inf, dtype=torch.float32)
    total, out = torch.zeros_like(top), torch.zeros((*q.shape[:-1], v.shape[-1]), dtype=torch.float32)
    for start in range(0, k.shape[-2], PART):
        part = slice(start, start + PART)
        s = (_scores(q.float(), k[..., part, :].float(), scale) * bits).masked_fill(~seen[..., part], -torch.inf)
        higher = torch.maximum(top, s.amax(-1, keepdim=True))
        shift = torch.where(higher.isinf(), 0.0, higher)
        e, kept = torch.exp2(s - shift), torch.exp2(top - shift)
        top, total, out = higher, total * kept + e.sum(-1, keepdim=True), out * kept + e @ v[..., part, :].float()
    lse = (torch.where(top.isinf(), 0.0, top) + total.log2()) / bits
    return out / torch.where(total == 0, 1.0, total), lse[..., 0]


def _unfused(q, k, v, seen, scale):
    """Scores and weights in the dtype of the arguments."""
    s = _scores(q, k, scale).masked_fill(~seen, -torch.inf)
    lse = torch.logsumexp(s.float(), -1)
    return torch.softmax(s, -1).nan_to_num(0.0) @ v, lse


def _seen(q, m, lengths, is_causal):
    n, row = q.shape[-2], torch.arange(m)
    held = torch.full(q.shape[:-3], m) if lengths is None else lengths
    last = held[..., None, None, None] - n + torch.arange(n)[:, None] if is_causal else held[..., None, None, None] - 1
    return (row <= last).expand(*q.shape[:-1], m)


class Explicit:
    """Keys and values of every head in the dtype of the arguments."""

    framework, dtypes = "torch", ("float32", "bfloat16", "float16")
    conventions = {"fully_masked_rows": "zero", "lse_base": "e"}
    attend = staticmethod(_online)

    def latent_attention(self, q_nope, q_rope, latent, k_rope, w_uk, w_uv, lengths=None, *, is_causal=True, scale=None):
        shared = latent[..., None, :, :]
        k_nope, v = shared @ w_uk.mT, shared @ w_uv.mT
        k = torch.cat([k_nope, k_rope[..., None, :, :].expand(*k_nope.shape[:-1], -1)], -1)
        q = torch.cat([q_nope, q_rope], -1)
        seen = _seen(q, k.shape[-2], lengths, is_causal)
        out, lse = self.attend(q, k, v, seen, q.shape[-1] ** -0.5 if scale is None else scale)
        return out.to(q.dtype), lse

    def sparse_attention(self, q, k, v, indices, *, scale=None):
        """Keys are gathered, and the places of −1 are masked."""
        group, n = q.shape[-3] // k.shape[-3], q.shape[-2]
        k, v = (x.repeat_interleave(group, -3) for x in (k, v))
        places = indices.clamp(min=0)[..., None, :, :].expand(*q.shape[:-1], -1)
        rows = [x[..., None, :, :].expand(*x.shape[:-2], n, *x.shape[-2:]) for x in (k, v)]
        keys, values = (torch.gather(x, -2, places[..., None].expand(*places.shape, x.shape[-1])) for x in rows)
        seen = (indices >= 0)[..., None, :, None, :].expand(*q.shape[:-1], 1, -1)
        out, lse = self.attend(q[..., None, :], keys, values, seen, q.shape[-1] ** -0.5 if scale is None else scale)
        return out[..., 0, :].to(q.dtype), lse[..., 0]

    def indexer_scores(self, q, k, weights, *, is_causal=True, activation="relu"):
        """Head by head, in float32."""
        total = torch.zeros((*q.shape[:-2], k.shape[-2]), dtype=torch.float32)
        k = k.float()  # once: the gradients of several casts would be added in 16 bits
        for head in range(q.shape[-2]):
            s = q[..., head, :].float() @ k.mT
            total = total + weights[..., head, None].float() * (s.relu() if activation == "relu" else s)
        n, m = total.shape[-2:]
        return total.masked_fill(torch.arange(m) > torch.arange(n)[:, None] + m - n, -torch.inf) if is_causal else total


class ExplicitUnfused(Explicit):
    """Scores and weights are stored in 16 bits, too."""

    attend = staticmethod(_unfused)


class Absorbed(Explicit):
    """Queries take w_uk, and out in latents is stored, in the dtype of the arguments."""

    def latent_attention(self, q_nope, q_rope, latent, k_rope, w_uk, w_uv, lengths=None, *, is_causal=True, scale=None):
        q = torch.cat([q_nope @ w_uk, q_rope], -1)
        scale = (q_nope.shape[-1] + q_rope.shape[-1]) ** -0.5 if scale is None else scale
        cache = torch.cat([latent, k_rope], -1)[..., None, :, :]
        out, lse = self.attend(q, cache, latent[..., None, :, :], _seen(q, latent.shape[-2], lengths, is_causal), scale)
        return out.to(q.dtype) @ w_uv.mT, lse


class AbsorbedUnfused(Absorbed):
    """Scores and weights are stored in 16 bits, too."""

    attend = staticmethod(_unfused)
