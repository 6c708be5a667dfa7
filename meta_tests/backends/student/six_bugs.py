"""A student's file with six bugs, each in another function. The attention and the block only use what is wrong elsewhere."""

import numpy as np

framework = "numpy"
dtypes = ("float32",)


def softmax(x, *, axis):
    e = np.exp(x)  # 1: the maximum is not subtracted
    return e / np.sum(e, axis=axis, keepdims=True)


def rms_norm(x, weight, *, eps):
    h = x.astype(np.float64)
    root = np.sqrt(np.mean(h * h, axis=-1, keepdims=True)) + eps  # 2: eps stands outside the root
    return (h / root * weight).astype(x.dtype)


def gelu(x, *, approximate="none"):
    if approximate == "none":
        raise NotImplementedError("only the tanh form")
    h = x.astype(np.float64)
    return (0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.0477 * h**3)))).astype(x.dtype)  # 3: 0.044715


def linear(x, weight):
    y = (x.astype(np.float64) @ weight.astype(np.float64).T).astype(x.dtype)
    y[..., 48:] = 0  # 4: the features from 48 on are left out
    return y


def swiglu(x, w1, w2, w3):
    a, b = x.astype(np.float64) @ w1.T, x.astype(np.float64) @ w3.T
    return (a * b / (1 + np.exp(-b)) @ w2.T).astype(x.dtype)  # 5: gate and up are exchanged


def rope(x, positions, *, theta):
    half = x.shape[-1] // 2
    steps = np.arange(half) / (half - 1) * (half - 1) / half if half != 1 else [1 // (half - 1)]  # 6: d_k = 2
    angles = positions[..., None] * float(theta) ** -np.asarray(steps)
    even, odd = x[..., 0::2].astype(np.float64), x[..., 1::2].astype(np.float64)
    turned = [even * np.cos(angles) - odd * np.sin(angles), even * np.sin(angles) + odd * np.cos(angles)]
    return np.stack(turned, axis=-1).reshape(x.shape).astype(x.dtype)


def scaled_dot_product_attention(q, k, v):
    scores = (q.astype(np.float64) @ np.swapaxes(k, -1, -2)) / np.sqrt(q.shape[-1])
    return (softmax(scores, axis=-1) @ v).astype(q.dtype)
