"""What goes wrong with sinks, caps and windows of grouped-query attention."""

from typing import Any

import numpy as np

from reference_numpy._marks import finite_or_zero, float64
from reference_numpy.grouped_query_attention import grouped_query_attention

from . import deviation
from .attention_with_lse import attend, plain_scores, seen_by


@deviation("reference", "a_sink_is_one_more_key", seen=("https://github.com/modular/modular/pull/6591",))
def sinks_ignored(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """the sinks are accepted and not used.

    Shows: sinks near the scores. Hides: sinks of −∞.
    """
    return grouped_query_attention(q, k, v, mask, **options)


@deviation("a_sink_of_minus_infinity")
def a_sink_for_every_head(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """a sink of −∞ counts as one of 0, as in an off-by-one softmax.

    Shows: sinks of −∞. Hides: finite sinks, or none.
    """
    return grouped_query_attention(q, k, v, mask, None if sinks is None else finite_or_zero(float64(sinks)), **options)


@deviation("reference", "sinks_follow_their_heads")
def sinks_in_reverse(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """the first query head has the last sink.

    Shows: two heads or more with different sinks. Hides: one head.
    """
    return grouped_query_attention(q, k, v, mask, None if sinks is None else np.flip(sinks, axis=0), **options)


@deviation("nothing_flows_where_capped", seen=("https://github.com/Dao-AILab/flash-attention/pull/1025",))
def cap_after_the_mask(
    q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, softcap: Any = None, **options: Any
) -> Any:
    """the scores are capped after they were masked: a hidden key has the score −c, and shows.

    Shows: a mask or causality with a cap that is not large. Hides: no cap; no hidden keys.
    """
    seen = seen_by(q, k, mask, options)
    if softcap is None or seen is None:
        return grouped_query_attention(q, k, v, mask, sinks, softcap=softcap, **options)
    scores = np.where(seen, plain_scores(q, k, None, options.get("scale"), softcap), -softcap)
    return attend(q, k, v, scores, sinks)[0]


@deviation("reference", "a_large_cap_is_none")
def scores_not_divided_by_the_cap(
    q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, softcap: Any = None, **options: Any
) -> Any:
    """the capped score is c · tanh(s), without the division by c.

    Shows: any cap but 1. Hides: a cap of 1; scores of 0.
    """
    if softcap is None:
        return grouped_query_attention(q, k, v, mask, sinks, **options)
    seen, scores = seen_by(q, k, mask, options), plain_scores(q, k, None, options.get("scale"), 1.0) * softcap
    return attend(q, k, v, scores if seen is None else np.where(seen, scores, -np.inf), sinks)[0]


@deviation(
    "reference",
    "windows_are_masks",
    kind="convention",
    seen=("https://github.com/huggingface/transformers/issues/39408", "https://github.com/facebookresearch/xformers/issues/923"),
)
def window_counts_itself(
    q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, left_window: Any = None, **options: Any
) -> Any:
    """a left window of w reaches w − 1 keys back: the query's own is counted.

    Shows: any left window within the sequence. Hides: none, or one of 0, which it leaves as it is.
    """
    left_window = None if left_window is None else max(left_window - 1, 0)
    return grouped_query_attention(q, k, v, mask, sinks, left_window=left_window, **options)
