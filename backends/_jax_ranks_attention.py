"""Attention of which each rank has some heads, or some queries and keys, which go around a ring."""

import math

import jax
import jax.numpy as jnp

from ._jax_ranks import WORLD_SIZE, compiled, cut, filled, from_the_rank_before, in_float32, on_ranks, rank, widened

__all__ = ["attention_with_lse", "grouped_query_attention", "scaled_dot_product_attention"]


def _visible(n, m, mask, is_causal):
    """Which of m keys each of n queries sees. The last query stands at the last key."""
    seen = jnp.ones((n, m), bool)
    seen = jnp.tril(seen, m - n) if is_causal else seen
    return seen if mask is None else seen & mask


def _scores(q, k, seen, bias, scale, softcap):
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    scores = scores if softcap is None else softcap * jnp.tanh(scores / softcap)
    scores = scores if bias is None else scores + bias
    return jnp.where(seen, scores, -jnp.inf)


@in_float32
def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None, softcap=None):
    """By heads: each rank has some heads of queries, and takes the heads of keys and values that these use, of which there may be
    fewer than ranks.
    """
    heads, group = q.shape[-3], q.shape[-3] // k.shape[-3]
    seen = _visible(q.shape[-2], k.shape[-2], mask, is_causal)

    def local(q, k, v, seen):
        mine = jnp.minimum(rank() * q.shape[-3] + jnp.arange(q.shape[-3]), heads - 1)
        k, v = (jnp.take(x, mine // group, axis=-3) for x in (k, v))
        seen = jnp.take(seen, mine, axis=-3) if seen.ndim > 2 and seen.shape[-3] > 1 else seen
        scores = _scores(q, k, seen, None, scale, softcap)
        blind = (scores == -jnp.inf).all(-1, keepdims=True)
        return jnp.where(blind, 0, jax.nn.softmax(jnp.where(blind, 0, scores), axis=-1)) @ v

    y = on_ranks(local, (q, -3), k, v, seen, result=cut(max(x.ndim for x in (q, k, v, seen)), -3))
    return y[..., :heads, :, :]


def _ring(q, k, v, seen, bias, scale, softcap):
    """Each rank keeps its queries, and the keys and values go around, with a running maximum and sum: the output and its lse."""
    top = jnp.full((*q.shape[:-1], 1), -jnp.inf, q.dtype)
    total, out, columns = 0.0, 0.0, k.shape[-2]

    def of_keys(x, origin):
        return None if x is None else jax.lax.dynamic_slice_in_dim(x, origin * columns, columns, axis=-1)

    for step in range(WORLD_SIZE):
        origin = (rank() - step) % WORLD_SIZE
        scores = _scores(q, k, of_keys(seen, origin), of_keys(bias, origin), scale, softcap)
        new = jnp.maximum(top, jax.lax.stop_gradient(scores).max(-1, keepdims=True))
        shift = jnp.where(new == -jnp.inf, 0, new)
        e, old = jnp.exp(scores - shift), jnp.exp(top - shift)
        top, total, out = new, total * old + e.sum(-1, keepdims=True), out * old + e @ v
        if step < WORLD_SIZE - 1:
            k, v = from_the_rank_before(k, v)
    blind = total == 0
    total = jnp.where(blind, 1, total)
    return out / total, jnp.where(blind, -jnp.inf, top + jnp.log(total))


def _with_lse(q, k, v, seen, bias, scale, softcap=None):
    n, m = q.shape[-2], k.shape[-2]

    def square(x):
        """With as many rows and columns as the queries and keys are filled up to, cut along the rows."""
        return None if x is None else (filled(jnp.broadcast_to(x, jnp.broadcast_shapes(x.shape, (n, m))), -1), -2)

    def local(q, k, v, seen, bias):
        return _ring(q, k, v, seen, bias, scale, softcap)

    ndim = max(x.ndim for x in (q, k, v, seen, bias) if x is not None)
    result = (cut(ndim, -2), cut(ndim, -2))
    out, lse = on_ranks(local, (q, -2), (k, -2), (v, -2), square(seen), square(bias), result=result)
    return out[..., :n, :], lse[..., :n, 0]


@in_float32
def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None, softcap=None):
    seen = _visible(q.shape[-2], k.shape[-2], mask, is_causal)
    return _with_lse(q, k, v, seen, bias, scale, softcap)[0]


@compiled
def attention_with_lse(q, k, v, mask=None, *, is_causal=False, scale=None):
    """The lse is float32 or wider. The heads of a group share their keys and values."""
    group = q.shape[-3] // k.shape[-3]
    k, v = (jnp.repeat(widened(x), group, axis=-3) for x in (k, v))
    out, lse = _with_lse(widened(q), k, v, _visible(q.shape[-2], k.shape[-2], mask, is_causal), None, scale)
    return out.astype(q.dtype), lse
