"""The operations written once in the array API standard; the files <framework>_array_api.py say on whose arrays.

16-bit arrays are computed in float32 up to the result. The standard has no erf, so that gelu's exact form is not implemented.
"""

import math

from array_api_compat import array_namespace
from array_api_compat import device as device_of

from ._array_api_dtypes import in_float32

conventions = {"causal_alignment": "bottom-right", "fully_masked_rows": "zero"}


@in_float32
def linear(x, weight, bias=None):
    xp = array_namespace(x, weight)
    y = xp.matmul(x, xp.matrix_transpose(weight))
    return y if bias is None else y + bias


def embedding(token_ids, weight):
    xp = array_namespace(token_ids, weight)
    rows = xp.take(weight, xp.reshape(token_ids, (-1,)), axis=0)
    return xp.reshape(rows, (*token_ids.shape, weight.shape[-1]))


def _max(x, axis):
    """The maximum. That of no entries is -inf."""
    xp = array_namespace(x)
    return xp.max(x, axis=axis, keepdims=True) if x.shape[axis] else xp.sum(x, axis=axis, keepdims=True) - xp.inf


@in_float32
def softmax(x, *, axis):
    xp = array_namespace(x)
    e = xp.exp(x - _max(x, axis))
    return e / xp.sum(e, axis=axis, keepdims=True)


@in_float32
def log_softmax(x, *, axis):
    xp = array_namespace(x)
    shifted = x - _max(x, axis)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


@in_float32
def logsumexp(x, *, axis):
    xp = array_namespace(x)
    top = _max(x, axis)
    top = xp.where(xp.isinf(top), xp.zeros_like(top), top)
    return xp.squeeze(top + xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True)), axis=axis)


@in_float32
def rms_norm(x, weight, *, eps):
    xp = array_namespace(x, weight)
    return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + eps) * weight


@in_float32
def layer_norm(x, weight, bias, *, eps):
    xp = array_namespace(x, weight, bias)
    return rms_norm(x - xp.mean(x, axis=-1, keepdims=True), weight, eps=eps) + bias


def relu(x):
    xp = array_namespace(x)
    return xp.maximum(x, xp.zeros_like(x))


@in_float32
def sigmoid(x):
    return 1 / (1 + array_namespace(x).exp(-x))


@in_float32
def silu(x):
    return x * sigmoid(x)


@in_float32
def gelu(x, *, approximate="none"):
    if approximate == "none":
        raise NotImplementedError("the array API has no erf")
    xp = array_namespace(x)
    return 0.5 * x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))


@in_float32
def glu(x, w1, w2):
    return sigmoid(linear(x, w1)) * linear(x, w2)


@in_float32
def swiglu(x, w1, w2, w3):
    return linear(silu(linear(x, w1)) * linear(x, w3), w2)


@in_float32
def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    return linear({"relu": relu, "gelu": gelu}[activation](linear(x, w1, b1)), w2, b2)


@in_float32
def rope(x, positions, *, theta=10000.0, layout="interleaved"):
    xp, d = array_namespace(x, positions), x.shape[-1]
    interleaved = layout == "interleaved"
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., : d // 2], x[..., d // 2 :])
    frequencies = xp.asarray([theta ** (-k / d) for k in range(0, d, 2)], dtype=x.dtype, device=device_of(x))
    angles = xp.astype(positions, x.dtype)[..., None] * frequencies
    cos, sin = xp.cos(angles), xp.sin(angles)
    turned = xp.stack([a * cos - b * sin, a * sin + b * cos], axis=-1 if interleaved else -2)
    return xp.reshape(turned, x.shape)


def _distance(n, m, xp, where=None):
    """i - j for every query i and key j."""
    return xp.arange(n, device=where)[:, None] - xp.arange(n if m is None else m, device=where)[None, :]


def causal_mask(*, n, m=None, aligned="bottom-right", xp, where=None):
    last = 0 if m is None or aligned == "top-left" else m - n
    return _distance(n, m, xp, where) >= -last


def sliding_window_mask(*, n, m=None, window, is_causal=True, xp, where=None):
    distance = _distance(n, m, xp, where)
    near = xp.abs(distance) <= window
    return near & (distance >= 0) if is_causal else near


def alibi_slopes(*, num_heads, xp):
    below = 1 << (num_heads.bit_length() - 1)  # the largest power of two that is no larger
    exponents = [-8 * i / below for i in range(1, below + 1)] + [-4 * i / below for i in range(1, 2 * below, 2)]
    return xp.asarray([2.0**e for e in exponents[:num_heads]], dtype=xp.float32)


@in_float32
def alibi_bias(slopes, *, n, m=None):
    xp = array_namespace(slopes)
    return -slopes[:, None, None] * xp.astype(xp.abs(_distance(n, m, xp, device_of(slopes))), slopes.dtype)[None, :, :]


@in_float32
def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None):
    xp = array_namespace(q, k, v)
    scores = xp.matmul(q, xp.matrix_transpose(k)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    nothing = xp.asarray(-math.inf, dtype=scores.dtype, device=device_of(scores))
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = xp.where(mask, scores, nothing)
    if is_causal:
        scores = xp.where(causal_mask(n=q.shape[-2], m=k.shape[-2], xp=xp, where=device_of(q)), scores, nothing)
    blind = xp.all(scores == nothing, axis=-1, keepdims=True)  # a query without any key: zero
    weights = softmax(xp.where(blind, xp.zeros_like(scores), scores), axis=-1)
    return xp.matmul(xp.where(blind, xp.zeros_like(weights), weights), v)


@in_float32
def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None):
    k, v = (array_namespace(y).repeat(y, q.shape[-3] // y.shape[-3], axis=y.ndim - 3) for y in (k, v))
    return scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, scale=scale)


@in_float32
def local_attention(q, k, v, *, window, is_causal=False, scale=None):
    xp, n, m = array_namespace(q, k, v), q.shape[-2], k.shape[-2]
    mask = sliding_window_mask(n=n, m=m, window=window, is_causal=is_causal, xp=xp, where=device_of(q))
    return scaled_dot_product_attention(q, k, v, mask, scale=scale)
