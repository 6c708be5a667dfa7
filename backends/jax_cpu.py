"""JAX's own operations in the dtype that they are given: jax.nn, and matrix products and masks of jax.numpy; the rest is absent.

float64 is there where JAX_ENABLE_X64 is set: the configuration is the process's, and this file leaves it alone.
"""

import math

import jax
import jax.numpy as jnp

framework = "jax"
device = "cpu"
conventions = {
    "causal_alignment": "top-left",
    "lse_base": "e",
    "cache_update": "returned",
}  # without a key: the mean of all values
domain = {
    name: {"d_v": "d_k"}
    for name in ("scaled_dot_product_attention", "grouped_query_attention", "local_attention", "attention_with_lse")
} | {
    "attention_with_kv_cache": {"d_v": "d_k", "is_causal": (False,)}
}  # is_causal counts positions from 0, not from the cache's end


def linear(x, weight, bias=None):
    y = jnp.matmul(x, weight.T)
    return y if bias is None else y + bias


def embedding(token_ids, weight):
    return jnp.take(weight, token_ids, axis=0)


def softmax(x, *, axis):
    return jax.nn.softmax(x, axis=axis)


def log_softmax(x, *, axis):
    return jax.nn.log_softmax(x, axis=axis)


def logsumexp(x, *, axis):
    return jax.nn.logsumexp(x, axis=axis)


def layer_norm(x, weight, bias, *, eps):
    """jax.nn.standardize has neither gain nor bias; in float32, as the norms of JAX's own libraries are."""
    h = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    return (jax.nn.standardize(h, epsilon=eps) * weight + bias).astype(x.dtype)


def relu(x):
    return jax.nn.relu(x)


def silu(x):
    return jax.nn.silu(x)


def sigmoid(x):
    return jax.nn.sigmoid(x)


def gelu(x, *, approximate="none"):
    return jax.nn.gelu(x, approximate=approximate == "tanh")


def glu(x, w1, w2):
    return jax.nn.glu(linear(x, jnp.concatenate([w2, w1])))


def swiglu(x, w1, w2, w3):
    return linear(jax.nn.silu(linear(x, w1)) * linear(x, w3), w2)


def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    return linear({"relu": relu, "gelu": gelu}[activation](linear(x, w1, b1)), w2, b2)


def causal_mask(*, n, m=None, aligned="bottom-right", device=device):
    every = jnp.ones((n, n if m is None else m), dtype=bool, device=jax.devices(device)[0])
    return jnp.tril(every, 0 if m is None or aligned == "top-left" else m - n)


def _attention(q, k, v, *masks, left_window=None, right_window=None, **options):
    """jax.nn.dot_product_attention takes (batch, length, heads, features); here they are (..., heads, length, features)."""
    batch = jnp.broadcast_shapes(*(x.shape[:-3] for x in (q, k, v, *masks) if x is not None))
    if not left_window is right_window is None:
        unlimited = max(q.shape[-2], k.shape[-2])
        options["local_window_size"] = tuple(unlimited if w is None else w for w in (left_window, right_window))

    def four(x):
        return None if x is None else jnp.broadcast_to(x, (*batch, *x.shape[-3:])).reshape(math.prod(batch), *x.shape[-3:])

    q, k, v = (four(x).swapaxes(1, 2) for x in (q, k, v))
    y, *lse = jax.tree.leaves(jax.nn.dot_product_attention(q, k, v, *map(four, masks), **options))
    return tuple(x.swapaxes(1, 2).reshape(*batch, x.shape[2], x.shape[1], *x.shape[3:]) for x in (y, *lse))


def _one_head(x):
    return None if x is None else jnp.atleast_2d(x)[..., None, :, :]


def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None):
    (y,) = _attention(*map(_one_head, (q, k, v, bias, mask)), is_causal=is_causal, scale=scale)
    return y.squeeze(-3)


def _of_every_head(mask):
    return mask if mask is None or mask.ndim > 2 else _one_head(mask)


def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None, left_window=None, right_window=None):
    options = {"is_causal": is_causal, "scale": scale, "left_window": left_window, "right_window": right_window}
    return _attention(q, k, v, None, _of_every_head(mask), **options)[0]


def attention_with_lse(q, k, v, mask=None, *, is_causal=False, scale=None, left_window=None, right_window=None):
    options = {"is_causal": is_causal, "scale": scale, "left_window": left_window, "right_window": right_window}
    return _attention(q, k, v, None, _of_every_head(mask), return_residual=True, **options)


def attention_with_kv_cache(q, k_cache, v_cache, lengths, *, is_causal=False, scale=None):
    return _attention(q, k_cache, v_cache, key_value_seq_lengths=lengths.astype(jnp.int32), scale=scale)[0]


def local_attention(q, k, v, *, window, is_causal=False, scale=None):
    q, k, v = map(_one_head, (q, k, v))
    return _attention(q, k, v, is_causal=is_causal, scale=scale, left_window=window, right_window=window)[0].squeeze(-3)


def sample(probabilities, *, seed=0, num_samples=1):
    """The generator is compiled for each shape, which takes about a second: a run needs --shapes=12 or fewer."""
    shape = (num_samples, *probabilities.shape[:-1])
    tokens = jax.random.categorical(jax.random.key(seed), jnp.log(probabilities), axis=-1, shape=shape)
    return jnp.moveaxis(tokens, 0, -1)
