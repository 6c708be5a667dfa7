"""The functions that numpy_cpu is made of, from linear to alibi_bias."""

import math

import numpy as np

overflow_is_inf = np.errstate(over="ignore")  # where the value itself may lie beyond the dtype


def wide(x):
    return x.astype(np.promote_types(x.dtype, np.float32), copy=False)


def _sum(x, axis):
    return np.sum(wide(x), axis=axis, keepdims=True)


def _max(x, axis):
    return np.max(x, axis=axis, keepdims=True, initial=-np.inf)  # which an axis without entries has


@overflow_is_inf
def linear(x, weight, bias=None):
    y = wide(x) @ wide(weight).T
    return (y if bias is None else y + bias).astype(x.dtype)


def embedding(token_ids, weight, *, padding_idx=None):
    return np.take(weight, token_ids, axis=0)


@overflow_is_inf
def softmax(x, *, axis):
    e = np.exp(x - _max(x, axis))
    return (e / _sum(e, axis)).astype(x.dtype)


@overflow_is_inf
def log_softmax(x, *, axis):
    shifted = x - _max(x, axis)
    return (shifted - np.log(_sum(np.exp(shifted), axis))).astype(x.dtype)


@np.errstate(over="ignore", divide="ignore")  # log 0 = -inf
def logsumexp(x, *, axis):
    top = _max(x, axis)
    top = np.where(np.isinf(top), 0, top)
    return (top + np.log(_sum(np.exp(x - top), axis))).astype(x.dtype).squeeze(axis)


def _within_range(x):
    """Each row divided by a power of two, which is 1 or more, and that power: now no square overflows."""
    largest = np.maximum(np.max(np.abs(x), axis=-1, keepdims=True), 1)
    power = largest / (2 * np.frexp(largest)[0])
    return x / power, power


def _over_root_mean_square(h, eps):
    mean_square = np.mean(np.square(h), axis=-1, keepdims=True) + eps
    return h / np.sqrt(np.maximum(mean_square, np.finfo(h.dtype).tiny))


@overflow_is_inf
def rms_norm(x, weight, *, eps):
    h, s = _within_range(wide(x))
    return (_over_root_mean_square(h, eps / s / s) * weight).astype(x.dtype)


@overflow_is_inf
def add_rms_norm(x, residual, weight, *, eps):
    total = (wide(x) + wide(residual)).astype(x.dtype)
    return rms_norm(total, weight, eps=eps), total


@overflow_is_inf
def layer_norm(x, weight, bias, *, eps):
    h, s = _within_range(wide(x))
    centred = h - np.mean(h, axis=-1, keepdims=True)
    return (_over_root_mean_square(centred, eps / s / s) * weight + bias).astype(x.dtype)


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def _not_minus_inf(x):
    return np.maximum(x, np.finfo(x.dtype).min)  # -inf * 0 would be NaN


def silu(x):
    return _not_minus_inf(x) * sigmoid(x)


_erfc = np.vectorize(math.erfc, otypes=[float])


def _normal_cdf(x):
    return _erfc(-x.astype(np.float64) / math.sqrt(2)) / 2


def gelu(x, *, approximate="none"):
    if approximate == "none":
        return _not_minus_inf(x) * _normal_cdf(x).astype(x.dtype)
    u = np.clip(x, -30, 30)  # beyond, the gate is 0 or 1
    gate = sigmoid(math.sqrt(8 / math.pi) * (u + 0.044715 * (u * u * u)))  # (1 + tanh z) / 2 = σ(2z)
    return _not_minus_inf(x) * gate


@overflow_is_inf
def glu(x, w1, w2, b1=None, b2=None):
    return sigmoid(linear(x, w1, b1)) * linear(x, w2, b2)


@overflow_is_inf
def gated_activation(x, *, activation="silu", layout="concatenated", gate="first", limit=None, alpha=1.0, offset=0.0):
    halves = np.split(x, 2, axis=-1) if layout == "concatenated" else (x[..., 0::2], x[..., 1::2])
    g, u = halves if gate == "first" else halves[::-1]
    if limit is not None:
        g, u = np.minimum(g, x.dtype.type(limit)), np.clip(u, -x.dtype.type(limit), x.dtype.type(limit))
    act = {
        "silu": lambda z: _not_minus_inf(z) * sigmoid(x.dtype.type(alpha) * z),
        "gelu": gelu,
        "gelu_tanh": lambda z: gelu(z, approximate="tanh"),
        "relu": relu,
        "sigmoid": sigmoid,
    }[activation]
    return act(g) * (u + x.dtype.type(offset))


@overflow_is_inf
def swiglu(x, w1, w2, w3, b1=None, b2=None, b3=None):
    return linear(silu(linear(x, w1, b1)) * linear(x, w3, b3), w2, b2)


def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    return linear({"relu": relu, "gelu": gelu}[activation](linear(x, w1, b1)), w2, b2)


def causal_mask(*, n, m=None, aligned="bottom-right"):
    m = n if m is None else m
    return np.tri(n, m, m - n if aligned == "bottom-right" else 0, dtype=bool)


def sliding_window_mask(*, n, m=None, window, is_causal=True):
    i, j = np.arange(n)[:, None], np.arange(n if m is None else m)
    near = np.abs(i - j) <= window
    return near & (j <= i) if is_causal else near


def alibi_slopes(*, num_heads):
    below = 1 << (num_heads.bit_length() - 1)  # the largest power of two that is no larger
    slopes = 2.0 ** (-8 * np.arange(1, below + 1) / below)
    between = 2.0 ** (-4 * np.arange(1, 2 * below, 2) / below)
    return np.concatenate([slopes, between[: num_heads - below]]).astype(np.float32)


@overflow_is_inf
def alibi_bias(slopes, *, n, m=None):
    h = wide(slopes)[:, None, None]
    i, j = np.arange(n)[:, None], np.arange(n if m is None else m)
    return (h * -np.abs(i - j).astype(h.dtype)).astype(slopes.dtype)
