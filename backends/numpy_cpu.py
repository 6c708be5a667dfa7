"""NumPy, each operation in the dtype that it is given.

float64 and float32 are kept throughout. float16 is computed as unfused half-precision code does: every step is rounded,
but sums and matrix products accumulate in float32, and the norms are computed in float32 as a whole.
"""

import math

import numpy as np

framework = "numpy"
dtypes = ("float64", "float32", "float16")
conventions = {"causal_alignment": "bottom-right", "fully_masked_rows": "zero"}

overflow_is_inf = np.errstate(over="ignore")  # where the value itself may lie beyond the dtype


def _wide(x):
    return x.astype(np.promote_types(x.dtype, np.float32), copy=False)


def _sum(x, axis):
    return np.sum(_wide(x), axis=axis, keepdims=True)


@overflow_is_inf
def linear(x, weight, bias=None):
    y = _wide(x) @ _wide(weight).T
    return (y if bias is None else y + bias).astype(x.dtype)


def embedding(token_ids, weight):
    return np.take(weight, token_ids, axis=0)


@overflow_is_inf
def softmax(x, *, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return (e / _sum(e, axis)).astype(x.dtype)


@overflow_is_inf
def log_softmax(x, *, axis):
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return (shifted - np.log(_sum(np.exp(shifted), axis))).astype(x.dtype)


@np.errstate(over="ignore", divide="ignore")  # log 0 = -inf
def logsumexp(x, *, axis):
    top = np.max(x, axis=axis, keepdims=True)
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
    h, s = _within_range(_wide(x))
    return (_over_root_mean_square(h, eps / s / s) * weight).astype(x.dtype)


@overflow_is_inf
def layer_norm(x, weight, bias, *, eps):
    h, s = _within_range(_wide(x))
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


_normal_cdf = np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2, otypes=[float])


def gelu(x, *, approximate="none"):
    if approximate == "none":
        return _not_minus_inf(x) * _normal_cdf(x).astype(x.dtype)
    u = np.clip(x, -30, 30)  # beyond, the gate is 0 or 1
    gate = sigmoid(math.sqrt(8 / math.pi) * (u + 0.044715 * (u * u * u)))  # (1 + tanh z) / 2 = σ(2z)
    return _not_minus_inf(x) * gate


@overflow_is_inf
def glu(x, w1, w2):
    return sigmoid(linear(x, w1)) * linear(x, w2)


@overflow_is_inf
def swiglu(x, w1, w2, w3):
    return linear(silu(linear(x, w1)) * linear(x, w3), w2)


def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    return linear({"relu": relu, "gelu": gelu}[activation](linear(x, w1, b1)), w2, b2)


@overflow_is_inf
def rope(x, positions, *, theta=10000.0, layout="interleaved"):
    d = x.shape[-1]
    h, interleaved = _wide(x), layout == "interleaved"
    a, b = (h[..., 0::2], h[..., 1::2]) if interleaved else (h[..., : d // 2], h[..., d // 2 :])
    angles = positions[..., None] * float(theta) ** (-np.arange(0, d, 2) / d)  # in float64
    cos, sin = np.cos(angles).astype(h.dtype), np.sin(angles).astype(h.dtype)
    turned = np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1 if interleaved else -2)
    return turned.reshape(x.shape).astype(x.dtype)


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
    h = _wide(slopes)[:, None, None]
    i, j = np.arange(n)[:, None], np.arange(n if m is None else m)
    return (h * -np.abs(i - j).astype(h.dtype)).astype(slopes.dtype)


@overflow_is_inf
def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None):
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    scores = (_wide(q) @ _wide(k).swapaxes(-1, -2) * scale).astype(q.dtype)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    if is_causal:
        scores = np.where(causal_mask(n=q.shape[-2], m=k.shape[-2]), scores, -np.inf)
    blind = np.all(scores == -np.inf, axis=-1, keepdims=True)  # a query without any key: zero
    weights = np.where(blind, 0, softmax(np.where(blind, 0, scores), axis=-1))
    return (_wide(weights) @ _wide(v)).astype(q.dtype)


def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None):
    group = q.shape[-3] // k.shape[-3]
    k, v = np.repeat(k, group, axis=-3), np.repeat(v, group, axis=-3)
    return scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, scale=scale)


def local_attention(q, k, v, *, window, is_causal=False, scale=None):
    mask = sliding_window_mask(n=q.shape[-2], m=k.shape[-2], window=window, is_causal=is_causal)
    return scaled_dot_product_attention(q, k, v, mask, scale=scale)


def _split(y, heads):
    return y.reshape(*y.shape[:-1], heads, y.shape[-1] // heads).swapaxes(-2, -3)


def _join(y):
    y = y.swapaxes(-2, -3)
    return y.reshape(*y.shape[:-2], y.shape[-2] * y.shape[-1])


def multihead_self_attention(
    x, w_q, w_k, w_v, w_o, positions=None,
    *, num_heads, num_kv_heads=None, is_causal=True, theta=None, layout="interleaved",
):  # fmt: skip
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    q = _split(linear(x, w_q), num_heads)
    k, v = (_split(linear(x, w), num_kv_heads) for w in (w_k, w_v))
    if theta is not None:
        positions = np.arange(x.shape[-2]) if positions is None else positions[..., None, :]
        q, k = (rope(y, positions, theta=theta, layout=layout) for y in (q, k))
    return linear(_join(grouped_query_attention(q, k, v, is_causal=is_causal)), w_o)


@overflow_is_inf
def transformer_block(
    x, weights, positions=None, *, num_heads, num_kv_heads=None, theta=None, layout="interleaved", eps, norm="pre"
):
    def attention(h):
        w = (weights[name] for name in ("w_q", "w_k", "w_v", "w_o"))
        heads = {"num_heads": num_heads, "num_kv_heads": num_kv_heads}
        return multihead_self_attention(h, *w, positions, **heads, theta=theta, layout=layout)

    def ffn(h):
        return swiglu(h, weights["w1"], weights["w2"], weights["w3"])

    def normed(h, name):
        return rms_norm(h, weights[name], eps=eps)

    if norm == "pre":
        h = x + attention(normed(x, "attn_norm"))
        return h + ffn(normed(h, "ffn_norm"))
    h = normed(x + attention(x), "attn_norm")
    return normed(h + ffn(h), "ffn_norm")


def transformer_lm(token_ids, weights, *, num_heads, num_kv_heads=None, theta, layout="interleaved", eps):
    h = embedding(token_ids, weights["token_embedding"])
    for layer in weights["layers"]:
        heads = {"num_heads": num_heads, "num_kv_heads": num_kv_heads}
        h = transformer_block(h, layer, **heads, theta=theta, layout=layout, eps=eps)
    return linear(rms_norm(h, weights["final_norm"], eps=eps), weights["lm_head"])


def parameter_count(*, d_model, d_ff, num_layers, num_heads=1, num_kv_heads=None, vocab_size=0, style="decoder"):
    d_k = d_model // num_heads
    d_q, d_kv = num_heads * d_k, (num_heads if num_kv_heads is None else num_kv_heads) * d_k
    projections = 2 * d_model * (d_q + d_kv)
    if style == "decoder":
        layer = projections + 3 * d_model * d_ff + 2 * d_model
        return num_layers * layer + d_model + 2 * vocab_size * d_model
    biases = d_q + 2 * d_kv + d_model + d_ff + d_model
    layer = projections + 2 * d_model * d_ff + biases + 4 * d_model
    return num_layers * layer + vocab_size * d_model
