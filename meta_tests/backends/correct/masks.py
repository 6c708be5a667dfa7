"""Masks, ALiBi and the count of parameters, computed in other ways."""

import math

import numpy as np
import torch


class Views:
    """Masks and biases are overlapping views of one row, the same along each diagonal; NumPy. They cannot be written to."""

    framework = "numpy"

    def _diagonals(self, of_distance, n, m):
        """Row i and column j hold of_distance(i - j), from a single row of n + m - 1 numbers."""
        row = of_distance(np.arange(n - 1, -m, -1))
        if 0 in (n, m):
            return np.zeros((n, m), row.dtype)
        return np.lib.stride_tricks.sliding_window_view(row, m)[::-1][:n]

    def causal_mask(self, *, n, m=None, aligned="bottom-right"):
        m = n if m is None else m
        last = m - n if aligned == "bottom-right" else 0
        return self._diagonals(lambda distance: distance + last >= 0, n, m)

    def sliding_window_mask(self, *, n, m=None, window, is_causal=True):
        lowest = 0 if is_causal else -window
        return self._diagonals(lambda distance: (distance >= lowest) & (distance <= window), n, n if m is None else m)

    def alibi_slopes(self, *, num_heads):
        below = 2 ** int(math.log2(num_heads))
        slopes = np.geomspace(2 ** (-8 / below), 2.0**-8, below)
        between = np.geomspace(2 ** (-4 / below), 2.0**-8, 2 * below)[::2]
        return np.concatenate([slopes, between[: num_heads - below]]).astype(np.float32)

    def alibi_bias(self, slopes, *, n, m=None):
        m = n if m is None else m
        distance = self._diagonals(lambda distance: -np.abs(distance).astype(np.float64), n, m)
        return (slopes.astype(np.float64)[:, None, None] * distance).astype(slopes.dtype)

    def parameter_count(self, *, d_model, d_ff, num_layers, num_heads=1, num_kv_heads=None, vocab_size=0, style="decoder"):
        head = d_model // num_heads
        shared = head * (num_heads if num_kv_heads is None else num_kv_heads)
        encoder = style == "encoder"
        shapes = [(head * num_heads, d_model), (shared, d_model), (shared, d_model), (d_model, head * num_heads)]
        shapes += [(d_ff, d_model), (d_model, d_ff)] + ([] if encoder else [(d_ff, d_model)])
        layer = sum(rows * columns + (rows if encoder else 0) for rows, columns in shapes) + (4 if encoder else 2) * d_model
        rest = vocab_size * d_model if encoder else (2 * vocab_size + 1) * d_model
        return np.int64(num_layers * layer + rest)


class Compared:
    """Plain comparisons of indices, and the slopes as the paper's code has them; PyTorch, the distance in the slopes' dtype."""

    framework = "torch"

    def causal_mask(self, n, m=None, aligned="bottom-right"):
        i, j = torch.arange(n), torch.arange(n if m is None else m)
        return j <= (i + (len(j) - n if aligned == "bottom-right" else 0)).unsqueeze(-1)

    def sliding_window_mask(self, n, window, m=None, is_causal=True):
        gap = torch.arange(n).unsqueeze(-1) - torch.arange(n if m is None else m)
        return torch.logical_and(gap.abs().le(window), gap.ge(0) if is_causal else torch.tensor(True))

    def _slopes(self, h):
        if math.log2(h).is_integer():
            start = 2 ** (-(2 ** -(math.log2(h) - 3)))
            return [start * start**i for i in range(h)]
        below = 2 ** math.floor(math.log2(h))
        return self._slopes(below) + self._slopes(2 * below)[0::2][: h - below]

    def alibi_slopes(self, num_heads):
        return torch.tensor(self._slopes(num_heads))

    def alibi_bias(self, slopes, n, m=None):
        distance = (torch.arange(n)[:, None] - torch.arange(n if m is None else m)).abs().to(slopes.dtype)
        return torch.einsum("h,nm->hnm", slopes, -distance)

    def parameter_count(self, d_model, d_ff, num_layers):
        return torch.tensor(num_layers * (4 * d_model**2 + 3 * d_model * d_ff + 2 * d_model) + d_model)


class MembersByMask:
    """Sequences one behind the other as one attention with a mask. Softmax of no seen key is NaN, and a sum over no key is 0."""

    framework = "numpy"
    dtypes = ("float64", "float32")

    def variable_length_attention(self, q, k, v, cu_seqlens_q, cu_seqlens_k, *, is_causal=False, scale=None):
        of_q, of_k = (
            np.searchsorted(ends, np.arange(len(x)), side="right") for ends, x in ((cu_seqlens_q, q), (cu_seqlens_k, k))
        )
        seen = of_q[:, None] == of_k
        if is_causal:
            left = np.append(cu_seqlens_q, len(q))[of_q] - np.arange(len(q))
            seen &= left[:, None] <= np.append(cu_seqlens_k, len(k))[of_k] - np.arange(len(k))
        k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
        scale = q.dtype.type(q.shape[-1] ** -0.5 if scale is None else scale)
        s = np.where(seen, np.einsum("nhd,mhd->hnm", q, k) * scale, -np.inf)
        with np.errstate(invalid="ignore"):
            e = np.exp(s - np.max(s, axis=-1, keepdims=True, initial=-np.inf))
            p = e / np.sum(e, axis=-1, keepdims=True)
        return np.einsum("hnm,mhd->nhd", p, v)
