"""What goes wrong with the sinks of attention: how they are scaled, how often they count, and whose they are."""

from typing import Any

import numpy as np

from reference_numpy._marks import finite_or_zero, float64
from reference_numpy.attention_with_lse import attention_with_lse

from . import deviation
from .attention_with_lse import attend, plain_scores, scale_or_default, seen_by

ROCM = ("https://github.com/ROCm/rocm-libraries/issues/12227", "https://github.com/ROCm/rocm-libraries/pull/12229")


@deviation("reference", "sinks_take_their_share", seen=("https://github.com/modular/modular/pull/6591",))
def sinks_ignored(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """the sinks are accepted and not used.

    Shows: sinks near the scores. Hides: sinks of −∞.
    """
    return attention_with_lse(q, k, v, mask, **options)


@deviation("reference", "sinks_take_their_share", seen=ROCM)
def sinks_counted_twice(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """the sink enters the denominator twice, as if each of two splits had one.

    Shows: sinks near the scores. Hides: sinks of −∞, or far below the scores.
    """
    sinks = None if sinks is None else float64(sinks) + float(np.log(2.0))
    return attention_with_lse(q, k, v, mask, sinks, **options)


@deviation("reference", "sinks_take_their_share", seen=ROCM)
def sinks_scaled(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, scale: Any = None, **options: Any) -> Any:
    """the sinks are multiplied by the scale of the scores.

    Shows: any sink but 0 with any scale but 1. Hides: d_k = 1 without a scale; sinks of −∞.
    """
    if sinks is not None:
        finite = np.isfinite(getattr(sinks, "value", sinks))
        sinks = np.where(finite, np.where(finite, sinks, 0.0) * scale_or_default(q, scale), -np.inf)
    return attention_with_lse(q, k, v, mask, sinks, scale=scale, **options)


@deviation("reference")
def sinks_capped(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, softcap: Any = None, **options: Any) -> Any:
    """the sinks are capped as the scores are.

    Shows: a sink near the cap. Hides: no cap, or a large one.
    """
    if sinks is not None and softcap is not None:
        sinks = np.tanh(sinks / softcap) * softcap
    return attention_with_lse(q, k, v, mask, sinks, softcap=softcap, **options)


@deviation("reference", "sinks_take_their_share")
def sinks_to_the_base_two(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """the sink enters as 2 to its power, as in a kernel whose scores are multiplied by log₂ e beforehand and whose sinks are not.

    Shows: any sink but 0. Hides: sinks of 0 or −∞.
    """
    sinks = None if sinks is None else float64(sinks) * float(np.log(2.0))
    return attention_with_lse(q, k, v, mask, sinks, **options)


@deviation("reference", "sinks_take_their_share", seen=("https://github.com/modular/modular/pull/6591",))
def sinks_by_row(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """row r of all queries of all heads gets the sink r mod h, which is right only if there is one query.

    Shows: several queries and heads. Hides: one query, as when decoding; one head; equal sinks.
    """
    if sinks is None:
        return attention_with_lse(q, k, v, mask, **options)
    h, n = q.shape[-3], q.shape[-2]
    rows = np.arange(h * n).reshape(h, n) % h
    scores = plain_scores(q, k, seen_by(q, k, mask, options), options.get("scale"), options.get("softcap"))
    column = np.reshape(
        np.take(float64(sinks), rows.ravel(), axis=0) if isinstance(sinks, np.ndarray) else sinks[rows.ravel()], (h, n, 1)
    )
    column = np.broadcast_to(column, (*scores.shape[:-1], 1))
    return attend(
        q, k, np.concatenate([float64(v), 0.0 * float64(v)[..., :1, :]], axis=-2), np.concatenate([scores, column], axis=-1)
    )


@deviation("reference", "heads_are_separate", "sinks_follow_their_heads")
def sinks_in_reverse(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """the first query head has the last sink.

    Shows: two heads or more with different sinks. Hides: one head.
    """
    return attention_with_lse(q, k, v, mask, None if sinks is None else np.flip(sinks, axis=0), **options)


@deviation("reference", "sinks_take_their_share", "a_sink_is_one_more_key")
def sinks_with_the_last_value(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """the sink is one more key that has the value of the last one, not a value of 0.

    Shows: sinks near the scores. Hides: sinks of −∞, a last value of 0; lse is right.
    """
    if sinks is None:
        return attention_with_lse(q, k, v, mask, **options)
    scores = plain_scores(q, k, seen_by(q, k, mask, options), options.get("scale"), options.get("softcap"))
    column = np.broadcast_to(np.reshape(float64(sinks), (q.shape[-3], 1, 1)), (*scores.shape[:-1], 1))
    v = float64(v)
    return attend(q, k, np.concatenate([v, v[..., -1:, :]], axis=-2), np.concatenate([scores, column], axis=-1))


@deviation("a_sink_of_minus_infinity")
def a_sink_for_every_head(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """a sink of −∞ counts as one of 0, as in an off-by-one softmax.

    Shows: sinks of −∞. Hides: finite sinks, or none.
    """
    return attention_with_lse(q, k, v, mask, None if sinks is None else finite_or_zero(float64(sinks)), **options)


@deviation("nothing_but_a_sink")
def nan_beside_a_sink(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """a query that sees no key gives NaN although it has a sink, as where the largest score alone is subtracted.

    Shows: a query that sees a sink alone. Hides: queries that see a key.
    """
    out, lse = attention_with_lse(q, k, v, mask, sinks, **options)
    seen = seen_by(q, k, mask, options)
    if seen is None or sinks is None:
        return out, lse
    some = np.any(np.broadcast_to(seen, (*lse.shape, k.shape[-2])), axis=-1)
    return np.where(some[..., None], out, np.nan), np.where(some, lse, np.nan)
