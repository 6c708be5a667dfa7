from typing import Any

import numpy as np

from ._heads import seen_slots
from ._marks import above_minus_infinity, float64
from .grouped_query_attention import grouped_query_attention


def variable_length_attention(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    sinks: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    softcap: float | None = None,
    left_window: int | None = None,
    right_window: int | None = None,
) -> Any:
    """Attention in each of several sequences of different lengths that lie one after the other in the same arrays.

        y[a_b : a_(b+1)] = attention(q[a_b : a_(b+1)], k[c_b : c_(b+1)], v[c_b : c_(b+1)]),   a, c = cu_seqlens_q, cu_seqlens_k

    Shapes
        q (N, h, d_k),  k (M, h_kv, d_k),  v (M, h_kv, d_v),  cu_seqlens_q (members),  cu_seqlens_k (members),  sinks (h)
        ->  (N, h, d_v)
    Dtypes
        as the arguments
    Units
        cu_seqlens in tokens: B + 1 of them for B members.
    Domain
        As in grouped_query_attention; cu_seqlens begin with 0, never fall, and end with N and M, or before, as in buffers of
        a fixed size: whether code takes such tokens beyond the last member is the level padded-tokens.
    Edges
        A member may have no queries, no keys, or neither. A query that sees no key has no softmax: NaN here, and 0 with
        a finite sink. Tokens beyond the last member, NaN included, belong to none. Their results mean nothing: 0 here.

    Raises
        ValueError where h_kv does not divide h.
    Choices
        Causality and windows are those of each member, with its last query level with its last key (bottom-right).
    Source
        FlashAttention's flash_attn_varlen_func.

    Two members; each query sees its own member's keys alone:

    >>> q, ends = np.ones((2, 1, 1)), np.array([0, 1, 2])
    >>> variable_length_attention(q, 0 * q, np.array([[[5.0]], [[7.0]]]), ends, ends)[:, 0, 0]
    array([5., 7.])
    """
    q, k, v, members = float64(q), float64(k), float64(v), []
    for queries, keys in zip(_slices(cu_seqlens_q), _slices(cu_seqlens_k), strict=True):
        n, m = queries.stop - queries.start, keys.stop - keys.start
        if not m or not n:  # without keys there is a sink, or nothing
            nothing = np.repeat(0.0 * q[queries][..., :1], v.shape[2], axis=-1)
            absent = True if sinks is None else ~above_minus_infinity(float64(sinks))[:, None]
            members.append(np.where(absent, np.nan, nothing) if n else nothing)
            continue
        seen = seen_slots(np.array([m]), n, m, is_causal, left_window, right_window)[0]
        own_q, own_k, own_v = (np.swapaxes(x, 0, 1) for x in (q[queries], k[keys], v[keys]))
        out = grouped_query_attention(own_q, own_k, own_v, seen, sinks, scale=scale, softcap=softcap)
        members.append(np.swapaxes(out, 0, 1))
    beyond = q.shape[0] - int(np.asarray(cu_seqlens_q)[-1])
    if beyond:
        members.append(np.zeros((beyond, q.shape[1], v.shape[2])))
    return np.concatenate(members, axis=0)


def _slices(ends: Any) -> list[slice]:
    """Return the slice of each member."""
    ends = np.asarray(ends)
    return [slice(int(start), int(stop)) for start, stop in np.stack([ends[:-1], ends[1:]], axis=1)]
