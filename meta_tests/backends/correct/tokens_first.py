"""Recurrent states with tokens before heads, as flash-linear-attention and mamba_ssm have them: token by token, and in chunks."""

import itertools
import math

import numpy as np
import torch

STATED = {"token_axis": "before heads"}
LIMITS = (0.0, math.inf)
CHUNK = 16


class TokenByToken:
    """One token after the other in NumPy, in float32 or wider; the members of packed sequences one after the other."""

    framework = "numpy"
    conventions = STATED
    dtypes = ("float64", "float32", "float16")

    def linear_attention(self, q, k, v, g=None, beta=None, state=None, cu_seqlens=None, *, scale=None, qk_l2norm=False):
        wide = np.float64 if v.dtype == np.float64 else np.float32
        dtype, (q, k, v) = v.dtype, (x.astype(wide) for x in (q, k, v))
        if qk_l2norm:
            q, k = (x / np.sqrt(np.sum(x * x, -1, keepdims=True) + wide(1e-6)) for x in (q, k))
        q, k = (np.repeat(x, v.shape[-2] // x.shape[-2], axis=-2) for x in (q, k))
        q = q * wide(1 / math.sqrt(k.shape[-1]) if scale is None else scale)
        g = np.zeros((*v.shape[:-1], 1), wide) if g is None else g.astype(wide)
        beta = None if beta is None else beta.astype(wide)
        shape = (v.shape[-2], k.shape[-1], v.shape[-1])
        if cu_seqlens is None:
            state = np.zeros((*v.shape[:-3], *shape), wide) if state is None else state.astype(wide)
            out, state = self.walk(q, k, v, g, beta, state)
            return out.astype(dtype), state
        ends = list(itertools.pairwise(cu_seqlens))
        states = np.zeros((len(ends), *shape), wide) if state is None else state.astype(wide)
        found = [
            self.walk(q[i:j], k[i:j], v[i:j], g[i:j], None if beta is None else beta[i:j], s)
            for (i, j), s in zip(ends, states, strict=True)
        ]
        return np.concatenate([out for out, _ in found]).astype(dtype), np.stack([after for _, after in found])

    def walk(self, q, k, v, g, beta, state):
        out = np.empty_like(v)
        for t in range(v.shape[-3]):
            state = np.exp(g[..., t, :, :, None]) * state
            key, new = k[..., t, :, :, None], v[..., t, :, None, :]
            if beta is not None:
                new = beta[..., t, :, None, None] * (new - np.sum(key * state, axis=-2, keepdims=True))
            state = state + key * new
            out[..., t, :, :] = np.sum(q[..., t, :, :, None] * state, axis=-2)
        return out, state

    def mamba2_scan(self, x, dt, a, b, c, d=None, z=None, dt_bias=None, state=None, *, dt_softplus=False, dt_limit=LIMITS):
        wide = np.float64 if x.dtype == np.float64 else np.float32
        dtype, (x, dt, b, c) = x.dtype, (y.astype(wide) for y in (x, dt, b, c))
        y = dt if dt_bias is None else dt + dt_bias.astype(wide)
        y = np.logaddexp(y, wide(0)) if dt_softplus else y
        steps = np.clip(y, wide(dt_limit[0]), wide(dt_limit[1]))
        b, c = (np.repeat(y, x.shape[-2] // y.shape[-2], axis=-2) for y in (b, c))
        start = np.zeros((*x.shape[:-3], x.shape[-2], b.shape[-1], x.shape[-1]), wide)
        start = start if state is None else np.swapaxes(state.astype(wide), -1, -2)
        y, after = self.walk(c, b, steps[..., None] * x, (steps * a.astype(wide))[..., None], None, start)
        y = y if d is None else y + d.astype(wide)[:, None] * x
        if z is not None:
            gate = z.astype(wide)
            y = y * gate / (1 + np.exp(-gate))
        return y.astype(dtype), np.swapaxes(after, -1, -2).copy()

    def linear_attention_gate(self, x, a_log, dt_bias=None, *, lower_bound=None):
        wide = np.float64 if x.dtype == np.float64 else np.float32
        y = x.astype(wide) if dt_bias is None else x.astype(wide) + dt_bias.astype(wide)
        rate = np.exp(a_log.astype(wide))[:, None]
        if lower_bound is None:
            return -rate * (np.maximum(y, 0) + np.log1p(np.exp(-np.abs(y))))
        return wide(lower_bound) / (1 + np.exp(-rate * y))


class ChunksWithTokensFirst:
    """Chunks of 16 tokens in PyTorch, by sums over named axes; the rows of the delta rule are solved one after the other."""

    framework = "torch"
    device = "cpu"
    conventions = STATED

    def linear_attention(self, q, k, v, g=None, beta=None, state=None, *, scale=None, qk_l2norm=False):
        dtype, wide = v.dtype, torch.promote_types(v.dtype, torch.float32)
        q, k, v = (x.to(wide) for x in (q, k, v))
        if qk_l2norm:
            q, k = (x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6) for x in (q, k))
        q, k = (x.repeat_interleave(v.shape[-2] // x.shape[-2], dim=-2) for x in (q, k))
        q = q * (k.shape[-1] ** -0.5 if scale is None else scale)
        g = v.new_zeros((*v.shape[:-1], 1)) if g is None else g
        state = v.new_zeros((*v.shape[:-3], v.shape[-2], k.shape[-1], v.shape[-1])) if state is None else state.clone()
        out, state = self.go(q, k, v, g, None if beta is None else beta.to(wide), state)
        return out.to(dtype), state

    def go(self, q, k, v, g, beta, state):
        """Return the outs of all tokens, chunk by chunk, and the last state."""
        outs = [v[..., :0, :, :]]
        for start in range(0, v.shape[-3], CHUNK):
            own = slice(start, start + CHUNK)
            rate = None if beta is None else beta[..., own, :]
            out, state = self.chunk(*(x[..., own, :, :] for x in (q, k, v, g)), rate, state)
            outs.append(out)
        return torch.cat(outs, dim=-3), state

    def chunk(self, q, k, v, g, beta, state):
        total = g.cumsum(-3)
        n = v.shape[-3]
        later = torch.ones(n, n, dtype=torch.bool).tril()[:, :, None, None]
        between = (total[..., :, None, :, :] - total[..., None, :, :, :]).masked_fill(~later, -torch.inf).exp()
        since, left = total.exp(), between[..., -1, :, :, :]
        written = v
        if beta is not None:
            pairs = (k[..., :, None, :, :] * k[..., None, :, :, :] * between).sum(-1) * beta[..., :, None, :]
            right = beta[..., None] * (v - torch.einsum("...nhc,...hcd->...nhd", k * since, state))
            rows = []
            for t in range(n):
                seen = [pairs[..., t, s, :, None] * row for s, row in enumerate(rows)]
                rows.append(right[..., t, :, :] - sum(seen))
            written = torch.stack(rows, dim=-3)
        scores = (q[..., :, None, :, :] * k[..., None, :, :, :] * between).sum(-1)
        out = torch.einsum("...nhc,...hcd->...nhd", q * since, state) + torch.einsum("...nmh,...mhd->...nhd", scores, written)
        return out, since[..., -1, :, :, None] * state + torch.einsum("...nhc,...nhd->...hcd", k * left, written)

    def mamba2_scan(self, x, dt, a, b, c, d=None, z=None, dt_bias=None, state=None, *, dt_softplus=False, dt_limit=LIMITS):
        dtype, wide = x.dtype, torch.promote_types(x.dtype, torch.float32)
        x, dt, b, c = (y.to(wide) for y in (x, dt, b, c))
        dt = dt if dt_bias is None else dt + dt_bias
        steps = (torch.nn.functional.softplus(dt) if dt_softplus else dt).clamp(*dt_limit)
        b, c = (y.repeat_interleave(x.shape[-2] // y.shape[-2], dim=-2) for y in (b, c))
        start = x.new_zeros((*x.shape[:-3], x.shape[-2], x.shape[-1], b.shape[-1])) if state is None else state
        y, after = self.go(c, b, steps[..., None] * x, (steps * a)[..., None], None, start.mT)
        y = y if d is None else y + d[:, None] * x
        y = y if z is None else y * torch.nn.functional.silu(z.to(wide))
        return y.to(dtype), after.mT.clone()

    def linear_attention_gate(self, x, a_log, dt_bias=None, *, lower_bound=None):
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        y, rate = y if dt_bias is None else y + dt_bias, a_log.exp()[:, None]
        return -rate * torch.nn.functional.softplus(y) if lower_bound is None else lower_bound * torch.sigmoid(rate * y)
