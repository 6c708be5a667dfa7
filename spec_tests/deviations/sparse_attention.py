"""What goes wrong with attention to listed keys: −1, blocks, and whose list it is."""

from typing import Any

import numpy as np

from reference_numpy._listed import for_heads
from reference_numpy._marks import float64
from reference_numpy.attention_with_lse import attention_with_lse
from reference_numpy.sparse_attention import sparse_attention

from . import deviation

NO_KEY = ("https://github.com/NVIDIA/Megatron-LM/pull/3674",)


def attend_to(q: Any, k: Any, v: Any, seen: Any, sinks: Any, scale: Any) -> Any:
    """Return attention and lse where these keys are seen."""
    return attention_with_lse(q, k, v, for_heads(seen, q, k), sinks, scale=scale)


def list_keys(indices: Any, n: int, m: int, block_size: int, *, causal: bool = True) -> Any:
    """Return the keys of the lists, with or without those behind the query."""
    seen = np.any(np.asarray(indices)[..., None] == np.arange(m) // block_size, axis=-2)
    return seen & (np.arange(m) <= np.arange(n)[:, None] + m - n) if causal else seen


@deviation("reference", "order_of_the_list", "is_attention_under_a_mask", seen=NO_KEY)
def minus_one_is_the_last_key(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """−1 counts from the end, so that the last key is read in its place.

    Shows: a row with −1 that does not list the last key. Hides: rows without −1.
    """
    n, m, j = q.shape[-2], k.shape[-2], np.asarray(indices)
    seen = list_keys(j, n, m, block_size)
    last = np.any(j == -1, axis=-1, keepdims=True) & np.any(j >= 0, axis=-1, keepdims=True) & (np.arange(m) == m - 1)
    return attend_to(q, k, v, seen | last, sinks, scale)


@deviation("reference", "order_of_the_list", "one_listed_key", seen=NO_KEY)
def minus_one_is_the_first_key(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """−1 is clamped to 0, and the first key is read in its place.

    Shows: a row with −1 that does not list the first block. Hides: rows without −1.
    """
    j = np.asarray(indices)
    some = np.any(j >= 0, axis=-1, keepdims=True)
    seen = list_keys(np.where((j == -1) & some, 0, j), q.shape[-2], k.shape[-2], block_size)
    return attend_to(q, k, v, seen, sinks, scale)


@deviation("reference", "order_of_the_list")
def list_ends_at_minus_one(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """the first −1 behind an index ends the list.

    Shows: −1 between the indices of a row. Hides: rows that are filled with −1 at their end.
    """
    j = np.asarray(indices)
    begun = np.cumsum(j >= 0, axis=-1) > 0
    ended = np.cumsum(begun & (j == -1), axis=-1) > 0
    return sparse_attention(q, k, v, np.where(ended, -1, j), sinks, scale=scale, block_size=block_size)


@deviation("reference", "is_attention_under_a_mask", "one_listed_key")
def list_of_the_first_query(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """every query reads the list of the first.

    Shows: several queries with lists of their own. Hides: one query, as when decoding.
    """
    first = np.broadcast_to(np.asarray(indices)[..., :1, :], np.shape(indices))
    return sparse_attention(q, k, v, first, sinks, scale=scale, block_size=block_size)


@deviation("reference", "is_attention_under_a_mask", "one_listed_key", "what_is_not_listed_does_not_show")
def list_is_ignored(q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1) -> Any:
    """every key at the query's position or before it is read, whatever is listed.

    Shows: a list that leaves a visible key out. Hides: lists of all keys.
    """
    n, m = q.shape[-2], k.shape[-2]
    some = np.any(np.asarray(indices) >= 0, axis=-1, keepdims=True)
    return attend_to(q, k, v, some & (np.arange(m) <= np.arange(n)[:, None] + m - n), sinks, scale)


@deviation("reference", "blocks_are_lists_of_keys")
def block_index_read_as_a_key(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """an index of a block is taken for that of a key.

    Shows: blocks of two keys and more. Hides: block_size = 1.
    """
    return sparse_attention(q, k, v, indices, sinks, scale=scale)


@deviation("reference", "blocks_are_lists_of_keys")
def keys_behind_the_query(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """a listed block is read to its end, with the keys behind the query.

    Shows: the block in which a query lies, where that is not its last key. Hides: block_size = 1.
    """
    return attend_to(q, k, v, list_keys(indices, q.shape[-2], k.shape[-2], block_size, causal=False), sinks, scale)


@deviation("reference", "blocks_are_lists_of_keys")
def end_of_the_last_block(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """the last block is always whole: zeros beyond the last key count as keys.

    Shows: a number of keys that is no multiple of the block. Hides: block_size = 1; full blocks.
    """
    k, v = float64(k), float64(v)
    n, m = q.shape[-2], k.shape[-2]
    more = -m % block_size
    k, v = (np.concatenate([x, 0.0 * np.repeat(x[..., -1:, :], more, axis=-2)], axis=-2) if more else x for x in (k, v))
    j = np.asarray(indices)
    seen = np.any(j[..., None] == np.arange(m + more) // block_size, axis=-2)
    seen = seen & ((np.arange(m + more) <= np.arange(n)[:, None] + m - n) | (np.arange(m + more) >= m))
    return attend_to(q, k, v, seen, sinks, scale)


@deviation("lse_base", "reference")
def lse_in_decimal_digits(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """lse is the logarithm to the base 10.

    Shows: any lse but 0. Hides: out.
    """
    out, lse = sparse_attention(q, k, v, indices, sinks, scale=scale, block_size=block_size)
    return out, lse * float(1 / np.log(10.0))


@deviation("fully_masked_rows")
def empty_list_reads_the_first_key(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """a query whose list is empty reads the first key.

    Shows: a row of −1 alone. Hides: all others.
    """
    j = np.asarray(indices)
    empty = np.all(j == -1, axis=-1, keepdims=True)
    return sparse_attention(
        q, k, v, np.where(empty & (np.arange(j.shape[-1]) == 0), 0, j), sinks, scale=scale, block_size=block_size
    )


@deviation("lists_of_key_heads")
def lists_of_key_heads_swapped(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """of a list for each key head, the last head reads the first list, and so on.

    Shows: other lists of other key heads. Hides: one list for all, and a single key head.
    """
    j = np.asarray(indices)
    own = np.flip(j, axis=-3) if j.ndim == q.ndim else j
    return sparse_attention(q, k, v, own, sinks, scale=scale, block_size=block_size)


@deviation("lists_of_key_heads", "list_of_another_key_head")
def list_of_the_first_key_head(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """of a list for each key head, all heads read the first.

    Shows: other lists of other key heads. Hides: one list for all, and a single key head.
    """
    j = np.asarray(indices)
    own = np.broadcast_to(j[..., :1, :, :], j.shape) if j.ndim == q.ndim else j
    return sparse_attention(q, k, v, own, sinks, scale=scale, block_size=block_size)


@deviation("equal_lists", "lists_of_key_heads", seen=NO_KEY)
def minus_one_is_the_first_key_of_a_head(
    q: Any, k: Any, v: Any, indices: Any, sinks: Any = None, *, scale: Any = None, block_size: int = 1
) -> Any:
    """in lists of key heads, −1 is clamped to 0, and the first key is read in its place.

    Shows: such a row with −1 that does not list the first block. Hides: one list for all, and rows without −1.
    """
    j = np.asarray(indices)
    some = np.any(j >= 0, axis=-1, keepdims=True) & (j.ndim == q.ndim)
    return sparse_attention(q, k, v, np.where((j == -1) & some, 0, j), sinks, scale=scale, block_size=block_size)
