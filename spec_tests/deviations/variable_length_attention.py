"""What goes wrong with packed attention: leaks between members, and where a member begins."""

from typing import Any

import numpy as np

from reference_numpy._heads import seen_slots
from reference_numpy._marks import float64
from reference_numpy.grouped_query_attention import grouped_query_attention
from reference_numpy.variable_length_attention import _slices, variable_length_attention

from . import deviation

LEAKS = (
    "https://github.com/huggingface/nanoVLM/pull/204",
    "https://github.com/alex-hh/profam/issues/495",
    "https://github.com/DeepOpt-com/WrinkleFree-Monorepo/issues/53",
)


def attend_over_all(q: Any, k: Any, v: Any, seen: Any, sinks: Any, options: dict[str, Any]) -> Any:
    """Return attention of all queries to all keys, where each query sees these."""
    q, k, v = (np.swapaxes(float64(x), 0, 1) for x in (q, k, v))
    out = grouped_query_attention(q, k, v, seen, sinks, scale=options.get("scale"), softcap=options.get("softcap"))
    return np.swapaxes(out, 0, 1)


def seen_in_members(ends_q: Any, ends_k: Any, options: dict[str, Any], *, top_left: bool = False) -> np.ndarray:
    """Return which keys each query sees."""
    seen = np.zeros((int(ends_q[-1]), int(ends_k[-1])), dtype=bool)
    windows = [options.get(name) for name in ("left_window", "right_window")]
    for queries, keys in zip(_slices(ends_q), _slices(ends_k), strict=True):
        n, m = queries.stop - queries.start, keys.stop - keys.start
        away = np.arange(m) - np.arange(n)[:, None] - (0 if top_left else m - n)
        near = away <= 0 if options.get("is_causal") else np.ones((n, m), dtype=bool)
        near = near if windows[0] is None else near & (away >= -windows[0])
        seen[queries, keys] = near if windows[1] is None else near & (away <= windows[1])
    return seen


@deviation("reference", "members_do_not_leak", "packed_is_separate", seen=LEAKS)
def one_long_sequence(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, sinks: Any = None, **options: Any) -> Any:
    """the members are one long sequence: each query sees the keys of all members.

    Shows: two members with keys. Hides: a single member.
    """
    if not k.shape[0]:
        return variable_length_attention(q, k, v, cu_seqlens_q, cu_seqlens_k, sinks, **options)
    windows = [options.get(name) for name in ("left_window", "right_window")]
    seen = seen_slots(np.array([k.shape[0]]), q.shape[0], k.shape[0], bool(options.get("is_causal")), *windows)[0]
    own = seen_in_members(cu_seqlens_q, cu_seqlens_k, options)
    return attend_over_all(q, k, v, seen | own, sinks, options)


@deviation("fully_masked_rows", "reference")
def causality_from_the_first_key(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, sinks: Any = None, **options: Any
) -> Any:
    """causality and windows are top-left in each member: its first query is aligned with its first key.

    Shows: members with more keys than queries. Hides: as many of both, as in training.
    """
    if not k.shape[0]:
        return variable_length_attention(q, k, v, cu_seqlens_q, cu_seqlens_k, sinks, **options)
    return attend_over_all(q, k, v, seen_in_members(cu_seqlens_q, cu_seqlens_k, options, top_left=True), sinks, options)


@deviation("reference", "members_do_not_leak")
def one_key_too_many(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, sinks: Any = None, **options: Any) -> Any:
    """without causality each member also sees the first key of the next: its end is treated as included.

    Shows: a member with a member behind it. Hides: the last member; causality.
    """
    if not k.shape[0] or options.get("is_causal"):
        return variable_length_attention(q, k, v, cu_seqlens_q, cu_seqlens_k, sinks, **options)
    seen = seen_in_members(cu_seqlens_q, cu_seqlens_k, options)
    for queries, keys in zip(_slices(cu_seqlens_q), _slices(cu_seqlens_k), strict=True):
        if keys.stop < k.shape[0] and keys.stop > keys.start:
            seen[queries, keys.stop] = True
    return attend_over_all(q, k, v, seen, sinks, options)


@deviation("reference", "empty_members_change_nothing")
def empty_members_skipped_in_keys_alone(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, sinks: Any = None, **options: Any
) -> Any:
    """a member without queries is left out of the queries, and its keys go to the next member.

    Shows: a member without queries that has keys, or an empty one before others. Hides: members with tokens.
    """
    ends_q, ends_k = np.asarray(cu_seqlens_q), np.asarray(cu_seqlens_k)
    lengths_q, lengths_k = np.diff(ends_q), np.diff(ends_k)
    full = lengths_q > 0
    counts = [*lengths_q[full], *lengths_q[~full]]
    moved = np.concatenate([[0], np.cumsum(counts)]).astype(int)
    if not np.any(~full) or not k.shape[0]:
        return variable_length_attention(q, k, v, ends_q, ends_k, sinks, **options)
    seen = seen_in_members(moved, ends_k, options)
    seen = seen | (~np.any(seen, axis=-1, keepdims=True) & seen_in_members(ends_q, ends_k, options))
    del lengths_k
    return attend_over_all(q, k, v, seen, sinks, options)


@deviation("reference", "first_and_last_of_a_causal_member")
def causality_ignored(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, sinks: Any = None, **options: Any) -> Any:
    """is_causal is accepted and not used.

    Shows: is_causal = True. Hides: the default; members of one key.
    """
    return variable_length_attention(q, k, v, cu_seqlens_q, cu_seqlens_k, sinks, **{**options, "is_causal": False})


@deviation("reference", "one_member_is_attention", kind="convention")
def shared_heads_in_turn(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, sinks: Any = None, **options: Any) -> Any:
    """query head i uses key/value head i mod h_kv, as where heads are tiled, not repeated.

    Shows: two shared heads or more, and more query heads. Hides: one shared head; as many of both.
    """
    turn = np.arange(q.shape[1]) % k.shape[1]
    return variable_length_attention(q, float64(k)[:, turn], float64(v)[:, turn], cu_seqlens_q, cu_seqlens_k, sinks, **options)


@deviation("tokens_beyond_the_last_member")
def last_member_to_the_end_of_the_array(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, sinks: Any = None, **options: Any
) -> Any:
    """the last member has all keys that are left in the array: where it ends is not read.

    Shows: keys beyond the last member. Hides: arrays without such keys.
    """
    ends = np.concatenate([np.asarray(cu_seqlens_k)[:-1], [k.shape[0]]])
    return variable_length_attention(q, k, v, cu_seqlens_q, ends, sinks, **options)


@deviation("tokens_beyond_the_last_member", kind="fault")
def members_alone_returned(right: Any, q: Any, k: Any, v: Any, cu_seqlens_q: Any, *others: Any, **options: Any) -> Any:
    """the result has the tokens of the members alone: the array is shorter than q.

    Shows: queries beyond the last member. Hides: arrays without such queries.
    """
    return right(q, k, v, cu_seqlens_q, *others, **options)[: int(cu_seqlens_q[-1])]
