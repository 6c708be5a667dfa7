"""What goes wrong with attention to a cache: how many slots count, and where a query stands."""

from typing import Any

import numpy as np

from reference_numpy._caches import dequantized
from reference_numpy._heads import seen_slots
from reference_numpy.attention_with_kv_cache import attention_with_kv_cache
from reference_numpy.grouped_query_attention import grouped_query_attention

from . import deviation

EMPTY_CACHE = (
    "https://github.com/flashinfer-ai/flashinfer/pull/353",
    "https://github.com/flashinfer-ai/flashinfer/pull/363",
    "https://github.com/flashinfer-ai/flashinfer/pull/440",
)


def attend(q: Any, k: Any, v: Any, seen: Any, sinks: Any, options: dict[str, Any]) -> Any:
    """Return attention where each query sees these slots."""
    shown = np.any(seen, axis=(1, 2))[:, None, :, None]
    k, v = dequantized(k, options.get("k_scale")), np.where(shown, dequantized(v, options.get("v_scale")), 0.0)
    return grouped_query_attention(q, k, v, seen, sinks, scale=options.get("scale"), softcap=options.get("softcap"))


def see(q: Any, k: Any, lengths: Any, options: dict[str, Any], *, positions: Any = None) -> Any:
    """Return which slots each query sees. positions: the lengths that decide where queries stand, if they are others."""
    names = ("left_window", "right_window")
    n, slots, causal = q.shape[-2], k.shape[-2], options.get("is_causal", True)
    windows = [options.get(name) for name in names]
    if positions is None:
        return seen_slots(lengths, n, slots, causal, *windows)
    within = seen_slots(lengths, n, slots, False, None, None)
    near = seen_slots(np.maximum(positions, slots + n), n, slots, False, None, None)
    away = np.arange(slots) - (np.asarray(positions)[:, None, None, None] - n + np.arange(n)[:, None])
    near = near & (away <= 0) if causal else near
    near = near if windows[0] is None else near & (away >= -windows[0])
    return within & (near if windows[1] is None else near & (away <= windows[1]))


@deviation("reference", "decode_is_prefill")
def positions_from_zero(q: Any, k_cache: Any, v_cache: Any, lengths: Any, sinks: Any = None, **options: Any) -> Any:
    """query i stands at position i, whatever the length: top-left, as torch's is_causal has it.

    Shows: a length above n. Hides: a prefill of an empty cache.
    """
    at = np.full(np.shape(lengths), q.shape[-2])
    return attend(q, k_cache, v_cache, see(q, k_cache, lengths, options, positions=at), sinks, options)


@deviation("reference", "decode_is_prefill")
def lengths_taken_for_those_before(q: Any, k_cache: Any, v_cache: Any, lengths: Any, sinks: Any = None, **options: Any) -> Any:
    """lengths are read as those before the new keys: query i has position lengths + i, and n more slots count.

    Shows: slots beyond lengths. Hides: a full cache without causality.
    """
    after = np.minimum(np.asarray(lengths) + q.shape[-2], k_cache.shape[-2])
    return attend(q, k_cache, v_cache, see(q, k_cache, after, options), sinks, options)


@deviation("reference", "nothing_beyond_the_lengths")
def all_slots_count(q: Any, k_cache: Any, v_cache: Any, lengths: Any, sinks: Any = None, **options: Any) -> Any:
    """without causality every slot counts, whatever the length.

    Shows: is_causal = False and a cache that is not full. Hides: causality, under which nobody looks so far.
    """
    full = np.full(np.shape(lengths), k_cache.shape[-2])
    within = full if not options.get("is_causal", True) else lengths
    return attend(q, k_cache, v_cache, see(q, k_cache, within, options, positions=lengths), sinks, options)


@deviation("reference", "rows_are_separate")
def first_length_for_all(q: Any, k_cache: Any, v_cache: Any, lengths: Any, sinks: Any = None, **options: Any) -> Any:
    """every row has the length of the first.

    Shows: rows of different lengths. Hides: a single row, or rows of the same length.
    """
    lengths = np.broadcast_to(np.asarray(lengths)[:1], np.shape(lengths))
    return attention_with_kv_cache(q, k_cache, v_cache, lengths, sinks, **options)


@deviation("reference", "rows_are_separate")
def longest_length_for_all(q: Any, k_cache: Any, v_cache: Any, lengths: Any, sinks: Any = None, **options: Any) -> Any:
    """every row has the length of the longest, as a padded batch without a mask has.

    Shows: rows of different lengths. Hides: a single row, or rows of the same length.
    """
    lengths = np.full(np.shape(lengths), np.max(lengths, initial=0))
    return attention_with_kv_cache(q, k_cache, v_cache, lengths, sinks, **options)


@deviation("reference", seen=("https://github.com/pegainfer-project/pegainfer/issues/291",))
def a_block_more_at_each_boundary(q: Any, k_cache: Any, v_cache: Any, lengths: Any, sinks: Any = None, **options: Any) -> Any:
    """where the length is a multiple of 16, sixteen more slots count.

    Shows: lengths of 16, 32, … with ordinary numbers in the slots beyond. Hides: other lengths; a cache padded with zeros.
    """
    lengths = np.asarray(lengths)
    more = np.where((lengths > 0) & (lengths % 16 == 0), np.minimum(lengths + 16, k_cache.shape[-2]), lengths)
    options = {**options, "is_causal": options.get("is_causal", True)}
    causal = see(q, k_cache, lengths, options)
    beyond = seen_slots(more, 1, k_cache.shape[-2], False, None, None) & ~seen_slots(
        lengths, 1, k_cache.shape[-2], False, None, None
    )
    return attend(q, k_cache, v_cache, causal | beyond, sinks, options)


@deviation("reference", "rolling_cache", "decode_is_prefill")
def window_from_the_first_slot(q: Any, k_cache: Any, v_cache: Any, lengths: Any, sinks: Any = None, **options: Any) -> Any:
    """windows are counted from a query's index among the new ones, not from its position in the cache.

    Shows: a window with a length above n. Hides: a prefill of an empty cache; no window.
    """
    at = np.full(np.shape(lengths), q.shape[-2])
    windowed = see(q, k_cache, lengths, {**options, "is_causal": False}, positions=at)
    names = ("left_window", "right_window")
    if all(options.get(name) is None for name in names):
        return attention_with_kv_cache(q, k_cache, v_cache, lengths, sinks, **options)
    causal = see(q, k_cache, lengths, {"is_causal": options.get("is_causal", True)})
    return attend(q, k_cache, v_cache, windowed & causal, sinks, options)


@deviation("reference")
def own_key_not_seen(q: Any, k_cache: Any, v_cache: Any, lengths: Any, sinks: Any = None, **options: Any) -> Any:
    """under causality a query sees the keys before its position and not its own.

    Shows: causality. Hides: none.
    """
    if not options.get("is_causal", True):
        return attention_with_kv_cache(q, k_cache, v_cache, lengths, sinks, **options)
    seen = see(q, k_cache, lengths, options, positions=np.asarray(lengths) - 1)
    first = (np.asarray(lengths)[:, None] - q.shape[-2] + np.arange(q.shape[-2]) == 0)[:, None, :, None]
    return attend(q, k_cache, v_cache, seen | (first & (np.arange(k_cache.shape[-2]) == 0)), sinks, options)


@deviation("fully_masked_rows", seen=EMPTY_CACHE)
def one_key_of_an_empty_row(q: Any, k_cache: Any, v_cache: Any, lengths: Any, sinks: Any = None, **options: Any) -> Any:
    """a row of length 0 sees slot 0, because a loop runs at least once.

    Shows: an empty cache, while other blind queries give zeros or NaN. Hides: rows with a key.
    """
    lengths = np.asarray(lengths)
    seen = see(q, k_cache, lengths, options) | ((lengths == 0)[:, None, None, None] & (np.arange(k_cache.shape[-2]) == 0))
    return attend(q, k_cache, v_cache, seen, sinks, options)
