"""Equinox's own modules, which take one token or one sequence, mapped over the rest by jax.vmap; the rest is absent.

float64 is there where JAX_ENABLE_X64 is set: the configuration is the process's, and this file leaves it alone.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp

framework = "jax"
device = "cpu"
version = f"equinox {eqx.__version__}, jax {jax.__version__}"
domain = {
    "rope": {"layout": ("half",), "positions": "consecutive"},
    "multihead_self_attention": {"theta": (None,)},
}
KEY = jax.random.key(0)  # of weights that are never used


def _with(module, **weights):
    """The module with these weights."""
    names = tuple(weights)
    return eqx.tree_at(lambda m: [getattr(m, name) for name in names], module, list(weights.values()))


def _each(module, x, core):
    """Of every token (core 1) or sequence (core 2) in x."""
    batch, inner = x.shape[: x.ndim - core], x.shape[x.ndim - core :]
    y = jax.vmap(module)(x.reshape(math.prod(batch), *inner))
    return y.reshape(*batch, *y.shape[1:])


def linear(x, weight, bias=None):
    out, features = weight.shape
    given = {"weight": weight} if bias is None else {"weight": weight, "bias": bias}
    return _each(_with(eqx.nn.Linear(features, out, use_bias=bias is not None, dtype=x.dtype, key=KEY), **given), x, 1)


def embedding(token_ids, weight):
    return _each(_with(eqx.nn.Embedding(*weight.shape, dtype=weight.dtype, key=KEY), weight=weight), token_ids, 0)


def rms_norm(x, weight, *, eps):
    return _each(_with(eqx.nn.RMSNorm(weight.shape, eps=eps, use_bias=False, dtype=weight.dtype), weight=weight), x, 1)


def layer_norm(x, weight, bias, *, eps):
    return _each(_with(eqx.nn.LayerNorm(weight.shape, eps=eps, dtype=weight.dtype), weight=weight, bias=bias), x, 1)


def rope(x, positions, *, theta=10000.0, layout="half"):
    return _each(eqx.nn.RotaryPositionalEmbedding(x.shape[-1], theta=theta, dtype=x.dtype), x, 2)


def multihead_self_attention(x, w_q, w_k, w_v, w_o, *, num_heads, is_causal=True, theta=None):
    n, d = x.shape[-2:]
    sizes = {"qk_size": len(w_q) // num_heads, "vo_size": len(w_v) // num_heads, "output_size": len(w_o)}
    module = eqx.nn.MultiheadAttention(num_heads, d, **sizes, dtype=x.dtype, key=KEY)
    names = ("query_proj", "key_proj", "value_proj", "output_proj")
    module = eqx.tree_at(lambda m: [getattr(m, name).weight for name in names], module, [w_q, w_k, w_v, w_o])
    mask = jnp.tril(jnp.ones((n, n), dtype=bool)) if is_causal else None
    return _each(lambda one: module(one, one, one, mask), x, 2)
