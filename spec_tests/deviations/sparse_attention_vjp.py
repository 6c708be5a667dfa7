"""What goes wrong with the gradients of attention to listed keys."""

from typing import Any

import numpy as np

from reference_numpy._listed import listed_keys
from reference_numpy._marks import float64
from reference_numpy.attention_with_lse_vjp import attention_with_lse_vjp
from reference_numpy.sparse_attention_vjp import sparse_attention_vjp

from . import deviation


@deviation("reference", "keys_that_are_not_listed")
def gradient_at_the_first_key_for_minus_one(
    cotangent: Any, q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """the gradients of places of −1 are added to the first key, as a scatter with clamped indices does.

    Shows: a row with −1 that does not list the first block. Hides: rows without −1.
    """
    j = np.asarray(indices)
    first = np.where((j == -1) & np.any(j >= 0, axis=-1, keepdims=True), 0, j)
    seen = listed_keys(first, q, k, block_size)
    dq, dk, dv, _, dsinks = attention_with_lse_vjp(cotangent, q, k, v, seen, sinks, scale=scale)
    return dq, dk, dv, None, dsinks


@deviation("reference", "values_share_the_cotangent")
def shared_heads_averaged(
    cotangent: Any, q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """a shared head gets the mean over its group of query heads, not the sum.

    Shows: fewer shared heads than query heads. Hides: as many of both.
    """
    found = sparse_attention_vjp(cotangent, q, k, v, indices, sinks, scale=scale, block_size=block_size)
    group = float64(q).shape[-3] // float64(k).shape[-3]
    dq, dk, dv, _, dsinks = found
    return dq, dk / float(group), dv / float(group), None, dsinks


@deviation("reference")
def cotangent_of_lse_ignored(
    cotangent: Any, q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """the cotangent of lse is ignored, as if lse had no gradient.

    Shows: a loss that contains lse. Hides: a loss of out alone.
    """
    c, g = cotangent
    silent = None if g is None else 0.0 * float64(g)
    return sparse_attention_vjp((c, silent), q, k, v, indices, sinks, scale=scale, block_size=block_size)


@deviation("lists_of_key_heads")
def lists_of_key_heads_swapped(
    cotangent: Any, q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """of a list for each key head, the last head reads the first list backward, and so on.

    Shows: other lists of other key heads. Hides: one list for all, and a single key head.
    """
    j = np.asarray(indices)
    own = np.flip(j, axis=-3) if j.ndim == q.ndim else j
    return sparse_attention_vjp(cotangent, q, k, v, own, sinks, scale=scale, block_size=block_size)
