"""What goes wrong with the scale, the cap, the window and the sinks of multihead_self_attention."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.multihead_self_attention import multihead_self_attention

from . import deviation


@deviation("window_forgets")
def window_counts_the_own_key(
    x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, *, left_window: int | None = None, **options: Any
) -> Any:
    """left_window is the number of keys, the own one included, so that the oldest is not seen.

    Shows: a window shorter than the sequence. Hides: a longer one; 0, which is left as it is.
    """
    shorter = left_window - 1 if left_window else left_window
    return multihead_self_attention(x, w_q, w_k, w_v, w_o, left_window=shorter, **options)


@deviation("window_forgets")
def window_of_one_key_more(
    x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, *, left_window: int | None = None, **options: Any
) -> Any:
    """the window has one key more.

    Shows: a window shorter than the sequence by two or more. Hides: a longer one.
    """
    return multihead_self_attention(
        x, w_q, w_k, w_v, w_o, left_window=None if left_window is None else left_window + 1, **options
    )


@deviation("sinks_with_equal_scores")
def sinks_ignored(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, sinks: Any = None, **options: Any) -> Any:
    """sinks are accepted, and the denominator does not have them.

    Shows: sinks. Hides: none; sinks of minus infinity.
    """
    return multihead_self_attention(x, w_q, w_k, w_v, w_o, **options)


@deviation("sinks_with_equal_scores")
def sinks_of_the_first_head(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, sinks: Any = None, **options: Any) -> Any:
    """every head has the sink of the first.

    Shows: two heads with different sinks. Hides: one head.
    """
    first = None if sinks is None else np.repeat(float64(sinks)[:1], float64(sinks).shape[0], axis=0)
    return multihead_self_attention(x, w_q, w_k, w_v, w_o, **{**options, "sinks": first})


@deviation("scores_are_those_of_attention")
def softcap_ignored(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, *, softcap: float | None = None, **options: Any) -> Any:
    """scores are not capped, as by a fused kernel that has no cap.

    Shows: a cap near the scores. Hides: none; a large cap.
    """
    return multihead_self_attention(x, w_q, w_k, w_v, w_o, **options)


@deviation("scores_are_those_of_attention", "scale_is_of_the_scores")
def scale_ignored(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, *, scale: float | None = None, **options: Any) -> Any:
    """the scale is 1/√d_k, whatever is given.

    Shows: another scale. Hides: none, or that one.
    """
    return multihead_self_attention(x, w_q, w_k, w_v, w_o, **options)
