"""What goes wrong with grouped_query_attention: which query head uses which shared head.

A deviation is a rule: a function of h, the number of query heads, and h_kv, the number of shared heads. It returns the index of
the shared head whose keys, and that of the shared head whose values, each query head uses.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.grouped_query_attention import grouped_query_attention
from reference_numpy.scaled_dot_product_attention import scaled_dot_product_attention

from . import deviation


def attend_by_head_rule(rule: Callable[[int, int], tuple[Any, Any]]) -> Callable[..., Any]:
    """Return attention in which the rule says whose keys and whose values each query head uses."""

    @wraps(rule)
    def attention(q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None) -> Any:
        q, k, v = float64(q), float64(k), float64(v)
        of_keys, of_values = rule(q.shape[-3], k.shape[-3])
        k, v = k[..., of_keys, :, :], v[..., of_values, :, :]
        return scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, scale=scale)

    del attention.__wrapped__  # its signature is attention's
    return attention


def heads_of_the_group(h: int, h_kv: int) -> Any:
    """Return the shared head of each query head, by the rule of the equation."""
    return np.arange(h) // (h // h_kv)


@deviation("reference", "repeated_heads", "groups_are_neighbours", kind="convention")
@attend_by_head_rule
def heads_in_turn(h: int, h_kv: int) -> Any:
    """query head i uses shared head i mod h_kv, not i // (h / h_kv).

    Shows: 1 < h_kv < h. Hides: h_kv = h and h_kv = 1.
    """
    return np.arange(h) % h_kv, np.arange(h) % h_kv


@deviation("reference", "repeated_heads")
@attend_by_head_rule
def values_in_turn(h: int, h_kv: int) -> Any:
    """values are shared in turn (i mod h_kv), keys by neighbours.

    Shows: 1 < h_kv < h. Hides: h_kv = h and h_kv = 1.
    """
    return heads_of_the_group(h, h_kv), np.arange(h) % h_kv


@deviation("reference", "repeated_heads", "groups_are_neighbours", kind="convention")
@attend_by_head_rule
def last_head_for_the_rest(h: int, h_kv: int) -> Any:
    """the first query heads use one shared head each, and all others use the last one.

    Shows: 1 < h_kv < h. Hides: h_kv = h and h_kv = 1.
    """
    heads = np.minimum(np.arange(h), h_kv - 1)
    return heads, heads


@deviation("reference", "heads_are_separate")
@attend_by_head_rule
def first_head_for_all(h: int, h_kv: int) -> Any:
    """every query head uses the first shared head, as if there were one.

    Shows: two shared heads or more. Hides: h_kv = 1.
    """
    return np.zeros(h, int), np.zeros(h, int)


@deviation("reference", "heads_are_separate")
@attend_by_head_rule
def groups_reversed(h: int, h_kv: int) -> Any:
    """the first group of query heads uses the last shared head.

    Shows: two shared heads or more. Hides: h_kv = 1.
    """
    return h_kv - 1 - heads_of_the_group(h, h_kv), h_kv - 1 - heads_of_the_group(h, h_kv)


@deviation("reference", "repeated_heads", "groups_are_neighbours")
@attend_by_head_rule
def divided_by_the_shared_heads(h: int, h_kv: int) -> Any:
    """query head i uses shared head i // h_kv, as far as there is one.

    Shows: 6 or 8 heads that share 2. Hides: 4 that share 2, h_kv = 1.
    """
    heads = np.minimum(np.arange(h) // h_kv, h_kv - 1)
    return heads, heads


@deviation("reference", "heads_are_separate")
@attend_by_head_rule
def first_of_a_group_misplaced(h: int, h_kv: int) -> Any:
    """the group is (i + 1) // (h / h_kv), one query head too early, and the last head keeps the last group.

    Shows: 1 < h_kv < h. Hides: h_kv = h and h_kv = 1.
    """
    heads = np.minimum((np.arange(h) + 1) // (h // h_kv), h_kv - 1)
    return heads, heads


# --- other steps ----------------------------------------------------------------------------------------------------


@deviation("reference", "repeated_heads", seen=("https://github.com/PrimeIntellect-ai/prime-rl/pull/2681",))
def repeated_along_tokens(
    q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None
) -> Any:
    """keys and values are repeated token by token, not head by head, and then cut into heads.

    Shows: h_kv < h and two keys or more. Hides: h_kv = h; one key.
    """
    k, v = float64(k), float64(v)
    h, h_kv = q.shape[-3], k.shape[-3]
    k, v = (np.reshape(np.repeat(x, h // h_kv, axis=-2), (*x.shape[:-3], h, *x.shape[-2:])) for x in (k, v))
    return grouped_query_attention(q, k, v, mask, is_causal=is_causal, scale=scale)


@deviation("mask_of_heads")
def mask_of_the_group(q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None) -> Any:
    """each group of query heads has the mask of its first.

    Shows: masks that differ among heads, h_kv < h. Hides: a mask that all heads share.
    """
    h, h_kv = q.shape[-3], k.shape[-3]
    if np.ndim(mask) > 2 and np.shape(mask)[-3] == h:
        mask = mask[..., heads_of_the_group(h, h_kv) * (h // h_kv), :, :]
    return grouped_query_attention(q, k, v, mask, is_causal=is_causal, scale=scale)


@deviation("mask_of_heads")
def mask_of_the_first_head(
    q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None
) -> Any:
    """every head has the mask of the first.

    Shows: masks that differ among heads. Hides: a mask that all heads share.
    """
    mask = mask[..., :1, :, :] if np.ndim(mask) > 2 else mask
    return grouped_query_attention(q, k, v, mask, is_causal=is_causal, scale=scale)


@deviation("reference", "repeated_heads")
def scale_of_the_group(q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None) -> Any:
    """the default scale is 1 / sqrt(d_k h / h_kv), the width of a head counted as if there were h_kv of them.

    Shows: h_kv < h. Hides: h_kv = h, a given scale.
    """
    width = q.shape[-1] * q.shape[-3] // k.shape[-3]
    return grouped_query_attention(q, k, v, mask, is_causal=is_causal, scale=1 / np.sqrt(width) if scale is None else scale)


@deviation("large_scores", kind="arithmetic")
def maximum_of_the_group(q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None) -> Any:
    """the scores of all query heads of a group stand in one tile, and the tile's maximum is subtracted from each: the
    exponentials of a head that lies far below it are all 0.

    Shows: a head whose scores are all lower than another's by more than the range of exp. Hides: ordinary scores, h_kv = h.
    """
    q, k, v = float64(q), float64(k), float64(v)
    (h, n), (h_kv, m) = q.shape[-3:-1], k.shape[-3:-1]
    shared = heads_of_the_group(h, h_kv)
    s = q @ np.swapaxes(k[..., shared, :, :], -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    seen = np.broadcast_to(True if mask is None else mask, s.shape) & (np.tri(n, m, dtype=bool) | (not is_causal))
    s = np.where(seen, s, -np.inf)
    highest = np.max(s, axis=-1, keepdims=True)
    tile = np.max(np.reshape(highest, (*s.shape[:-3], h_kv, h // h_kv, n, 1)), axis=-3)
    e = np.exp(s - tile[..., shared, :, :])
    return e / np.sum(e, axis=-1, keepdims=True) @ v[..., shared, :, :]
