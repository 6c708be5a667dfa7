"""Layers of which each rank has some features, hidden units, outputs or tokens."""

import jax
import jax.numpy as jnp

from ._jax_ranks import cut, in_float32, on_ranks, summed

__all__ = ["feed_forward", "glu", "layer_norm", "linear", "rms_norm", "swiglu"]


def _plus(y, bias):
    return y if bias is None else y + bias


def _row_parallel(h, weight, bias):
    """The bias is added once, after the sum."""
    return _plus(summed(h @ weight.T), bias)


@in_float32
def linear(x, weight, bias=None):
    """Row-parallel: each rank has some of the features."""
    return on_ranks(_row_parallel, (x, -1), (weight, 1), bias)


def _cut(bias):
    return None if bias is None else (bias, 0)


@in_float32
def swiglu(x, w1, w2, w3, b1=None, b2=None, b3=None):
    """w1 and w3 by columns, w2 by rows: one sum over the ranks."""

    def local(x, w1, w2, w3, b1, b2, b3):
        return _row_parallel(jax.nn.silu(_plus(x @ w1.T, b1)) * _plus(x @ w3.T, b3), w2, b2)

    return on_ranks(local, x, (w1, 0), (w2, 1), (w3, 0), _cut(b1), b2, _cut(b3))


@in_float32
def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    activate = {"relu": jax.nn.relu, "gelu": lambda h: jax.nn.gelu(h, approximate=False)}[activation]

    def local(x, w1, w2, b1, b2):
        return _row_parallel(activate(_plus(x @ w1.T, b1)), w2, b2)

    return on_ranks(local, x, (w1, 0), (w2, 1), _cut(b1), b2)


@in_float32
def glu(x, w1, w2, b1=None, b2=None):
    """Column-parallel: each rank has some of the outputs."""

    def local(x, w1, w2, b1, b2):
        return jax.nn.sigmoid(_plus(x @ w1.T, b1)) * _plus(x @ w2.T, b2)

    y = on_ranks(local, x, (w1, 0), (w2, 0), _cut(b1), _cut(b2), result=cut(x.ndim, -1))
    return y[..., : len(w1)]


def _normalized(x, eps, centered):
    """Each row divided by a power of two first, so that no square overflows."""
    top = jnp.maximum(jnp.abs(jax.lax.stop_gradient(x)).max(-1, keepdims=True), 1)
    power = jnp.exp2(jnp.frexp(top)[1].astype(x.dtype) - 1)
    h = x / power
    h = h - h.mean(-1, keepdims=True) if centered else h
    mean_square = jnp.square(h).mean(-1, keepdims=True) + eps / power / power
    return h / jnp.sqrt(jnp.maximum(mean_square, jnp.finfo(x.dtype).tiny))


def _on_tokens(normalize, x, *parameters):
    """Sequence-parallel: each rank has some of the tokens and all parameters, whose gradients are sums over all tokens."""
    tokens = x.reshape(-1, x.shape[-1])
    y = on_ranks(normalize, (tokens, 0), *parameters, result=cut(2, 0), filling=1)  # a row of ones has a norm and its gradient
    return y[: len(tokens)].reshape(x.shape)


@in_float32
def rms_norm(x, weight, *, eps):
    return _on_tokens(lambda x, weight: _normalized(x, eps, centered=False) * weight, x, weight)


@in_float32
def layer_norm(x, weight, bias, *, eps):
    return _on_tokens(lambda x, weight, bias: _normalized(x, eps, centered=True) * weight + bias, x, weight, bias)
