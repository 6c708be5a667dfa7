"""What goes wrong when keys are appended to a cache: where they are written, and what else is."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._caches import quantized
from reference_numpy.kv_cache_append import kv_cache_append

from . import deviation


def with_options(equation: Callable[..., Any]) -> Callable[..., Any]:
    """Return the equation with caches of few bits: it writes keys and values as these hold them."""

    def evaluate(
        k_cache: Any,
        v_cache: Any,
        k: Any,
        v: Any,
        lengths: Any,
        k_scale: Any = None,
        v_scale: Any = None,
        cache_dtype: Any = None,
    ) -> Any:
        k, v = (quantized(x, scale, lengths, cache_dtype) for x, scale in ((k, k_scale), (v, v_scale)))
        return equation(k_cache, v_cache, k, v, lengths)

    return evaluate


def write(cache: Any, new: Any, starts: Any, *, wrap: bool = False) -> Any:
    """Return the cache with the new slots of each row from its start on, as far as the cache has them, or around its end."""
    cache, slots = np.array(cache), np.shape(cache)[2]
    for row, start in enumerate(starts):
        for i in range(np.shape(new)[2]):
            if wrap or 0 <= start + i < slots:
                cache[row, :, (start + i) % slots] = new[row, :, i]
    return cache


@deviation("reference", "new_slots_hold_the_new_keys", "one_after_the_other")
def lengths_taken_for_those_after(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    """the keys are written to slots lengths − n … lengths − 1, as if lengths counted them.

    Shows: any n above 0. Hides: nothing.
    """
    starts = np.asarray(lengths) - np.shape(k)[2]
    return write(k_cache, k, starts), write(v_cache, v, starts)


@deviation("reference", "new_slots_hold_the_new_keys")
def one_slot_late(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    """the keys are written one slot too late, and the first free slot stays empty.

    Shows: any n above 0. Hides: nothing.
    """
    starts = np.asarray(lengths) + 1
    return write(k_cache, k, starts), write(v_cache, v, starts)


@deviation("reference", "new_slots_hold_the_new_keys")
def every_row_at_the_first_length(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    """every row is written at the length of the first.

    Shows: rows of different lengths. Hides: a single row, or rows of the same length.
    """
    starts = np.broadcast_to(np.asarray(lengths)[:1], np.shape(lengths))
    return write(k_cache, k, starts), write(v_cache, v, starts)


@deviation("reference", "new_slots_hold_the_new_keys")
def only_the_last_key(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    """only the last key is written, as if every call appended a single token.

    Shows: n above 1. Hides: n = 1, as when decoding.
    """
    return kv_cache_append(k_cache, v_cache, k[:, :, -1:], v[:, :, -1:], lengths)


@deviation("reference", "new_slots_hold_the_new_keys")
def values_not_written(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    """the keys are written, the values are not.

    Shows: any n above 0. Hides: a test that looks at the keys.
    """
    return kv_cache_append(k_cache, v_cache, k, v, lengths)[0], 1.0 * v_cache


@deviation("reference", "other_slots_keep_their_bits")
def tail_cleared(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    """the slots behind the new keys are set to 0, as where the cache is padded anew.

    Shows: other numbers there. Hides: a cache that begins as zeros and is only appended to.
    """
    beyond = (np.arange(np.shape(k_cache)[2]) >= (np.asarray(lengths) + np.shape(k)[2])[:, None])[:, None, :, None]
    return tuple(np.where(beyond, 0.0, x) for x in kv_cache_append(k_cache, v_cache, k, v, lengths))


@deviation("other_slots_keep_their_bits")
def rubbish_made_finite(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    """the new cache is old · (1 − here) + new · here: where the old cache holds NaN or an infinity, the new one is NaN.

    Shows: NaN or infinities in the cache. Hides: finite numbers.
    """
    slots, n = np.shape(k_cache)[2], np.shape(k)[2]
    here = (np.arange(slots) >= np.asarray(lengths)[:, None]) & (np.arange(slots) < np.asarray(lengths)[:, None] + n)
    here = here[:, None, :, None].astype(float)
    news = (write(0.0 * np.nan_to_num(cache, posinf=0.0, neginf=0.0), x, lengths) for cache, x in ((k_cache, k), (v_cache, v)))
    return tuple(cache * (1 - here) + new * here + 0.0 * cache for cache, new in zip((k_cache, v_cache), news, strict=True))


@deviation("reference", "nothing_appended")
def one_key_at_least(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    """with no keys to append, the last slot is written with zeros, because a loop runs at least once.

    Shows: n = 0. Hides: every other n.
    """
    k_cache, v_cache = kv_cache_append(k_cache, v_cache, k, v, lengths)
    if not np.shape(k)[2]:
        k_cache[:, :, -1], v_cache[:, :, -1] = 0.0, 0.0
    return k_cache, v_cache


@deviation("reference", "new_slots_hold_the_new_keys")
def heads_and_tokens_confused(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    """the new keys are read as (b, n, h, d) where they are (b, h, n, d).

    Shows: several heads and several tokens. Hides: one of either.
    """
    k, v = (np.reshape(np.ravel(np.swapaxes(x, 1, 2)), np.shape(x)) for x in (k, v))
    return kv_cache_append(k_cache, v_cache, k, v, lengths)


@deviation("reference", "new_slots_hold_the_new_keys")
def only_empty_slots_written(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    """slots that hold something are left as they are, so that a rolling cache keeps its first keys.

    Shows: a cache that an earlier sequence has filled. Hides: a cache of zeros.
    """
    written = kv_cache_append(k_cache, v_cache, k, v, lengths)
    return tuple(np.where(old == 0, new, old) for old, new in zip((k_cache, v_cache), written, strict=True))
