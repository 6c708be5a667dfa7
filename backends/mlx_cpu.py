"""MLX's own operations on the CPU: mlx.core.fast, mlx.nn, and mlx.core; what MLX has no operation for is absent."""

import functools
import math

import mlx.core as mx
from mlx import nn

from ._mlx_losses import *

framework = "mlx"
conventions = {"causal_alignment": "bottom-right", "adamw_epsilon": "corrected", "adamw_decay": "before"}
domain = {
    "rope": {"positions": "offset"},
    "logsumexp": {"empty": False},
    "cross_entropy": {"empty": False, "label_smoothing": (0.0, 0.1, 0.5, 0.9)},  # refused: 1
}


def on_the_cpu(operation):
    """Arrays belong to no device: the stream decides where an operation runs."""

    @functools.wraps(operation)
    def wrapper(*arrays, **keywords):
        with mx.stream(mx.cpu):
            return operation(*arrays, **keywords)

    return wrapper


@on_the_cpu
def linear(x, weight, bias=None):
    return x @ weight.T if bias is None else mx.addmm(bias, x, weight.T)


@on_the_cpu
def embedding(token_ids, weight):
    return weight[token_ids]


@on_the_cpu
def softmax(x, *, axis):
    return mx.softmax(x, axis=axis)


@on_the_cpu
def log_softmax(x, *, axis):
    if x.shape[axis] == 1:
        raise NotImplementedError("nn.log_softmax along an axis of one entry may end the process")
    return nn.log_softmax(x, axis=axis)


@on_the_cpu
def logsumexp(x, *, axis):
    return mx.logsumexp(x, axis=axis)


@on_the_cpu
def rms_norm(x, weight, *, eps):
    return mx.fast.rms_norm(x, weight, eps)


@on_the_cpu
def layer_norm(x, weight, bias, *, eps):
    return mx.fast.layer_norm(x, weight, bias, eps)


@on_the_cpu
def relu(x):
    return nn.relu(x)


@on_the_cpu
def silu(x):
    return nn.silu(x)


@on_the_cpu
def sigmoid(x):
    return nn.sigmoid(x)


@on_the_cpu
def gelu(x, *, approximate="none"):
    return nn.gelu(x) if approximate == "none" else nn.gelu_approx(x)


@on_the_cpu
def glu(x, w1, w2):
    return nn.glu(x @ mx.concatenate([w2, w1]).T)


@on_the_cpu
def swiglu(x, w1, w2, w3):
    return (nn.silu(x @ w1.T) * (x @ w3.T)) @ w2.T


@on_the_cpu
def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    return linear({"relu": nn.relu, "gelu": nn.gelu}[activation](linear(x, w1, b1)), w2, b2)


@on_the_cpu
def rope(x, positions, *, theta=10000.0, layout="interleaved"):
    n, d_k = x.shape[-2:]
    three = x.reshape(math.prod(x.shape[:-2]), n, d_k)
    first = 0 if n == 0 else positions[0]
    turned = mx.fast.rope(three, d_k, traditional=layout == "interleaved", base=theta, scale=1.0, offset=first)
    return turned.reshape(x.shape)


@on_the_cpu
def causal_mask(*, n, m=None, aligned="bottom-right"):
    m = n if m is None else m
    return mx.tri(n, m, m - n if aligned == "bottom-right" else 0, dtype=mx.bool_)


@on_the_cpu
def alibi_slopes(*, num_heads):
    return nn.ALiBi.create_alibi_slope(num_heads).reshape(num_heads)


def _attention(q, k, v, mask, scale, sinks=None):
    """mx.fast.scaled_dot_product_attention on (batch, heads, length, features); mask: boolean, additive or "causal"."""
    arrays = [x for x in (q, k, v, mask) if isinstance(x, mx.array)]
    batch = mx.broadcast_shapes(*(x.shape[:-3] for x in arrays))

    def four(x):
        return mx.broadcast_to(x, (*batch, *x.shape[-3:])).reshape(math.prod(batch), *x.shape[-3:])

    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    mask = four(mask) if isinstance(mask, mx.array) else mask
    y = mx.fast.scaled_dot_product_attention(four(q), four(k), four(v), scale=scale, mask=mask, sinks=sinks)
    return y.reshape(*batch, *y.shape[1:])


def _one_head(x):
    return mx.expand_dims(mx.atleast_2d(x), -3) if isinstance(x, mx.array) else x


@on_the_cpu
def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None):
    if sum([mask is not None, bias is not None, bool(is_causal)]) > 1:
        raise NotImplementedError("mx.fast.scaled_dot_product_attention takes one of mask, bias and is_causal")
    hidden = "causal" if is_causal else bias if mask is None else mask
    return _attention(*map(_one_head, (q, k, v, hidden)), scale).squeeze(-3)


@on_the_cpu
def grouped_query_attention(q, k, v, mask=None, sinks=None, *, is_causal=False, scale=None):
    if mask is not None and is_causal:
        raise NotImplementedError("mx.fast.scaled_dot_product_attention takes either mask or is_causal")
    hidden = "causal" if is_causal else mask
    return _attention(q, k, v, _one_head(hidden) if mask is not None and mask.ndim < 3 else hidden, scale, sinks)
