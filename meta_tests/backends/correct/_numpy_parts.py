"""Every operation in NumPy, made of a few parts that styles override: how sums run and how functions are computed.

16-bit arrays are computed in float32 throughout and rounded once at the end.
"""

import functools
import math

import numpy as np


def _leaves(tree):
    if isinstance(tree, dict | list | tuple):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _leaves(part)
    else:
        yield tree


def _mapped(f, tree):
    if isinstance(tree, dict):
        return {name: _mapped(f, part) for name, part in tree.items()}
    return [_mapped(f, part) for part in tree] if isinstance(tree, list | tuple) else f(tree)


def _floating(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "fV" and x.dtype != bool


def widely(operation):
    """Arrays are entered into the compute dtype, and the result takes the dtype of the first floating one."""

    @functools.wraps(operation)
    def wrapper(self, *arrays, **keywords):
        if self.inside:
            return operation(self, *arrays, **keywords)
        dtype = next(x.dtype for x in _leaves([list(arrays), keywords]) if _floating(x))
        entered = _mapped(lambda x: self.enter(x) if _floating(x) else x, [list(arrays), keywords])
        self.inside = True
        try:
            with np.errstate(all="ignore"):
                return self.leave(operation(self, *entered[0], **entered[1]), dtype)
        finally:
            self.inside = False

    return wrapper


class Parts:
    framework = "numpy"
    conventions = {"causal_alignment": "top-left", "fully_masked_rows": "zero"}
    inside = False

    # --- what a style replaces ---

    def enter(self, x):
        return x.astype(np.float64 if x.dtype == np.float64 else np.float32)

    def leave(self, y, dtype):
        return np.asarray(y).astype(dtype)

    def total(self, x):
        """The sum over the last axis, which is kept."""
        return np.sum(x, axis=-1, keepdims=True)

    def product(self, a, b):
        return a @ b

    def exp(self, x):
        return np.exp(x)

    def divided(self, x, y):
        return x / y

    def mean(self, x):
        return self.divided(self.total(x), x.dtype.type(x.shape[-1]))

    def over_root(self, x, mean_square, weight):
        return self.divided(x, np.sqrt(mean_square)) * weight

    def gate(self, x):
        """The logistic function."""
        e = self.exp(-np.abs(x))
        return self.divided(np.where(x >= 0, 1, e), 1 + e)

    # --- the operations ---

    @widely
    def linear(self, x, weight, bias=None):
        y = self.product(x[None] if x.ndim == 1 else x, weight.T).reshape(*x.shape[:-1], len(weight))
        return y if bias is None else y + bias

    def embedding(self, token_ids, weight):
        return weight[token_ids]

    def _weights(self, x):
        """Exponentials of rows, their largest being 1, that largest, and their sum."""
        top = np.max(x, axis=-1, keepdims=True)
        e = self.exp(x - np.where(np.isfinite(top), top, 0))
        return e, top, self.total(e)

    @widely
    def softmax(self, x, *, axis):
        e, _, total = self._weights(np.moveaxis(x, axis, -1))
        return np.moveaxis(self.divided(e, total), -1, axis)

    @widely
    def log_softmax(self, x, *, axis):
        x = np.moveaxis(x, axis, -1)
        _, top, total = self._weights(x)
        return np.moveaxis(x - top - np.log(total), -1, axis)

    @widely
    def logsumexp(self, x, *, axis):
        _, top, total = self._weights(np.moveaxis(x, axis, -1))
        return (top + np.log(total))[..., 0]

    @widely
    def rms_norm(self, x, weight, *, eps):
        return self.over_root(x, self.mean(np.square(x)) + x.dtype.type(eps), weight)

    @widely
    def layer_norm(self, x, weight, bias, *, eps):
        centred = x - self.mean(x)
        return self.over_root(centred, self.mean(np.square(centred)) + x.dtype.type(eps), weight) + bias

    @widely
    def sigmoid(self, x):
        return self.gate(x)

    @widely
    def silu(self, x):
        return x * self.gate(x)

    @widely
    def gelu(self, x, *, approximate="none"):
        if approximate == "none":
            erfc = np.vectorize(math.erfc, otypes=[float])(-x / math.sqrt(2))
            return x * (erfc.astype(x.dtype) / 2)
        return x * self.gate(x.dtype.type(math.sqrt(8 / math.pi)) * (x + x.dtype.type(0.044715) * (x * x * x)))

    @widely
    def glu(self, x, w1, w2):
        return self.gate(self.linear(x, w1)) * self.linear(x, w2)

    @widely
    def swiglu(self, x, w1, w2, w3):
        return self.linear(self.silu(self.linear(x, w1)) * self.linear(x, w3), w2)

    @widely
    def feed_forward(self, x, w1, w2, b1=None, b2=None, *, activation="relu"):
        hidden = self.linear(x, w1, b1)
        return self.linear(np.maximum(hidden, 0) if activation == "relu" else self.gelu(hidden), w2, b2)

    @widely
    def rope(self, x, positions, *, theta=10000.0, layout="interleaved"):
        d = x.shape[-1]
        a, b = (x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else (x[..., : d // 2], x[..., d // 2 :])
        angles = positions[..., None] * float(theta) ** (-np.arange(0, d, 2) / d)
        cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
        turned = np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1 if layout == "interleaved" else -2)
        return turned.reshape(x.shape)

    def _attention(self, q, k, v, seen, bias, scale):
        scale = q.dtype.type(1 / math.sqrt(q.shape[-1]) if scale is None else scale)
        scores = self.product(q, np.swapaxes(k, -1, -2)) * scale
        scores = scores if bias is None else scores + bias
        e, top, total = self._weights(np.where(seen, scores, -np.inf))
        return self.product(np.where(np.isinf(top), 0, self.divided(e, total)), v)

    @widely
    def scaled_dot_product_attention(self, q, k, v, mask=None, bias=None, *, is_causal=False, scale=None):
        seen = np.tri(q.shape[-2], k.shape[-2], dtype=bool) if is_causal else np.ones((q.shape[-2], k.shape[-2]), bool)
        return self._attention(q, k, v, seen if mask is None else seen & mask, bias, scale)

    def grouped_query_attention(self, q, k, v, mask=None, *, is_causal=False, scale=None):
        group = q.shape[-3] // k.shape[-3]
        k, v = np.repeat(k, group, axis=-3), np.repeat(v, group, axis=-3)
        return self.scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, scale=scale)

    def local_attention(self, q, k, v, *, window, is_causal=False, scale=None):
        i, j = np.arange(q.shape[-2])[:, None], np.arange(k.shape[-2])
        near = (abs(i - j) <= window) & (j <= i if is_causal else True)
        return self.scaled_dot_product_attention(q, k, v, near, scale=scale)
