from typing import Any

import numpy as np

from ._heads import seen_slots
from ._marks import above_minus_infinity, float64
from .grouped_query_attention_vjp import grouped_query_attention_vjp
from .variable_length_attention import _slices


def variable_length_attention_vjp(
    cotangent: Any,
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
    """Gradients of packed attention: those of each member, one after the other; the sinks gather those of all.

    Shapes
        cotangent (N, h, d_v),  q (N, h, d_k),  k (M, h_kv, d_k),  v (M, h_kv, d_v),  cu_seqlens_q (members),
        cu_seqlens_k (members),  sinks (h)  ->  (dq, dk, dv, None, None, dsinks), each as its argument
    Dtypes
        as the arguments
    Domain
        As in variable_length_attention, without tokens beyond the last member; each query sees a key or has a finite sink;
        cotangents finite.
    Edges
        The keys of a member without queries get exactly 0, and so do queries that see a sink alone.

    Raises
        ValueError where h_kv does not divide h.
    Source
        Dao et al. 2022, arXiv:2205.14135, appendix B.2, for each member.

    >>> q, ends = np.ones((2, 1, 1)), np.array([0, 1, 2])
    >>> variable_length_attention_vjp(np.array([[[3.0]], [[4.0]]]), q, q, q, ends, ends)[2][:, 0, 0]
    array([3., 4.])
    """
    c, q, k, v = float64(cotangent), float64(q), float64(k), float64(v)
    of_q: list[Any] = []
    of_k: list[Any] = []
    of_v: list[Any] = []
    of_sinks: list[Any] = []
    for queries, keys in zip(_slices(cu_seqlens_q), _slices(cu_seqlens_k), strict=True):
        n, m = queries.stop - queries.start, keys.stop - keys.start
        if not m or not n:
            for found, x, part in ((of_q, q, queries), (of_k, k, keys), (of_v, v, keys)):
                found.append(0.0 * x[part])
            continue
        seen = seen_slots(np.array([m]), n, m, is_causal, left_window, right_window)[0]
        own_c, own_q, own_k, own_v = (np.swapaxes(x, 0, 1) for x in (c[queries], q[queries], k[keys], v[keys]))
        dq, dk, dv, _, dsinks = grouped_query_attention_vjp(own_c, own_q, own_k, own_v, seen, sinks, scale=scale, softcap=softcap)
        for found, x in ((of_q, dq), (of_k, dk), (of_v, dv)):
            found.append(np.swapaxes(x, 0, 1))
        of_sinks.append(dsinks)
    gradients = [np.concatenate(parts, axis=0) for parts in (of_q, of_k, of_v)]
    if sinks is None:
        return *gradients, None, None, None
    none = 0.0 * np.where(above_minus_infinity(float64(sinks)), float64(sinks), 0.0)
    return *gradients, None, None, np.sum(np.stack([none, *of_sinks], axis=0), axis=0)
