"""The operations of keras.ops as they stand, on whichever of its backends Keras runs; the rest is absent."""

import math

import numpy as np
from keras import ops
from keras.config import backend

from ._keras_losses import *

conventions = {  # a query without a key gives the mean of all values
    "causal_alignment": "top-left",
    "adamw_epsilon": "uncorrected",
    "adamw_decay": "before",
    "all_ignored": "zero",
}
domain = {name: {"d_v": "d_k"} for name in ("scaled_dot_product_attention", "grouped_query_attention")}
domain |= {"gradient_clipping": {"eps": (0.0,)}, "cross_entropy": {"empty": False}}


def linear(x, weight, bias=None):
    y = ops.matmul(x, ops.transpose(weight))
    return y if bias is None else ops.add(y, bias)


def embedding(token_ids, weight):
    return ops.take(weight, token_ids, axis=0)


def softmax(x, *, axis):
    return ops.softmax(x, axis=axis)


def log_softmax(x, *, axis):
    return ops.log_softmax(x, axis=axis)


def logsumexp(x, *, axis):
    return ops.logsumexp(x, axis=axis)


def relu(x):
    return ops.relu(x)


def silu(x):
    return ops.silu(x)


def sigmoid(x):
    return ops.sigmoid(x)


def gelu(x, *, approximate="none"):
    return ops.gelu(x, approximate=approximate == "tanh")


def rms_norm(x, weight, *, eps):
    return ops.rms_normalization(x, weight, axis=-1, epsilon=eps)


def layer_norm(x, weight, bias, *, eps):
    return ops.layer_normalization(x, weight, bias, axis=-1, epsilon=eps)


def _attention(q, k, v, mask, bias, **options):
    """ops.dot_product_attention takes (batch, length, heads, features); here they are (..., heads, length, features)."""
    batch = np.broadcast_shapes(*(tuple(x.shape[:-3]) for x in (q, k, v, mask, bias) if x is not None))

    def four(x):
        return None if x is None else ops.reshape(ops.broadcast_to(x, (*batch, *x.shape[-3:])), (math.prod(batch), *x.shape[-3:]))

    q, k, v = (ops.swapaxes(four(x), 1, 2) for x in (q, k, v))
    y = ops.swapaxes(ops.dot_product_attention(q, k, v, mask=four(mask), bias=four(bias), **options), 1, 2)
    return ops.reshape(y, (*batch, *y.shape[1:]))


def _one_head(x):
    return None if x is None else (x if x.ndim > 1 else x[None])[..., None, :, :]


def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None):
    if mask is not None and bias is not None and backend() == "torch":
        raise NotImplementedError("on torch, one of bias and mask")
    return _attention(*map(_one_head, (q, k, v, mask, bias)), is_causal=is_causal, scale=scale)[..., 0, :, :]


def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None):
    if mask is not None and mask.ndim < 3:
        mask = _one_head(mask)
    return _attention(q, k, v, mask, None, is_causal=is_causal, scale=scale)
