"""What is cut along the vocabulary: each rank has some rows of the table, or some of the logits."""

import jax
import jax.numpy as jnp

from ._jax_ranks import compiled, cut, in_float32, largest, on_ranks, only, rank, summed, widened

__all__ = ["cross_entropy", "embedding", "log_softmax", "logsumexp", "softmax"]


def _rows(ids, weight):
    """The rows of the ids that this rank has, and zero for others."""
    places = ids - rank() * len(weight)
    here = (places >= 0) & (places < len(weight))
    return only(jnp.where(here[..., None], weight[jnp.where(here, places, 0)], 0))


@in_float32
def embedding(token_ids, weight):
    return on_ranks(_rows, token_ids, (weight, 0))


def _along(f, x, axis):
    """Run f on an array that is cut along an axis. What fills it up has the exponential 0."""
    y = on_ranks(f, (x, axis), result=cut(x.ndim, axis), filling=-jnp.inf)
    return jax.lax.slice_in_dim(y, 0, x.shape[axis], axis=axis % x.ndim)


@in_float32
def softmax(x, *, axis):
    def local(x):
        e = jnp.exp(x - largest(x, axis))
        return e / summed(e.sum(axis, keepdims=True))

    return _along(local, x, axis)


@in_float32
def log_softmax(x, *, axis):
    def local(x):
        shifted = x - largest(x, axis)
        return shifted - jnp.log(summed(jnp.exp(shifted).sum(axis, keepdims=True)))

    return _along(local, x, axis)


def _lse(x, axis):
    top = largest(x, axis)
    top = jnp.where(jnp.isinf(top), 0, top)
    return (top + jnp.log(summed(jnp.exp(x - top).sum(axis, keepdims=True)))).squeeze(axis)


@in_float32
def logsumexp(x, *, axis):
    return on_ranks(lambda x: _lse(x, axis), (x, axis), filling=-jnp.inf)


@compiled
def cross_entropy(logits, targets, *, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, softcap=None, reduction="mean"):
    """The loss is float32 or wider, as the sums are."""
    z = widened(logits)
    z, vocabulary, kept = z if softcap is None else softcap * jnp.tanh(z / softcap), z.shape[-1], targets != ignore_index

    def local(z, targets):
        lse, columns = _lse(z, -1), rank() * z.shape[-1] + jnp.arange(z.shape[-1])
        loss = lse - summed(jnp.where(columns == targets[..., None], z, 0).sum(-1))
        if label_smoothing:  # of the mean over the whole vocabulary, without what fills it up
            mean = summed(jnp.where(columns < vocabulary, z, 0).sum(-1)) / vocabulary
            loss = (1 - label_smoothing) * loss + label_smoothing * (lse - mean)
        return loss + z_loss * jnp.square(lse)

    loss = jnp.where(kept, on_ranks(local, (z, -1), targets, filling=-jnp.inf), 0)
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else loss.sum() / kept.sum()
