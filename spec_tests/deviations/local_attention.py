"""What goes wrong with local_attention beside its parts: which keys are near, and what blocks of them do."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from reference_numpy._marks import float64, rounded
from reference_numpy.local_attention import local_attention
from reference_numpy.scaled_dot_product_attention import scaled_dot_product_attention
from reference_numpy.sliding_window_mask import sliding_window_mask
from reference_numpy.softmax import softmax

from . import deviation


def attend_by_visibility_rule(rule: Callable[[Any, Any, int, bool], Any]) -> Callable[..., Any]:
    """Return attention in which the rule says whether query i sees key j."""

    @wraps(rule)
    def attention(q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None) -> Any:
        i, j = np.arange(q.shape[-2])[:, None], np.arange(k.shape[-2])
        return scaled_dot_product_attention(q, k, v, rule(i, j, window, is_causal), scale=scale)

    del attention.__wrapped__  # its signature is attention's
    return attention


def within_window(i: Any, j: Any, window: int, is_causal: bool) -> Any:
    """Return whether query i sees key j, by the rule of the equation."""
    return (np.abs(i - j) <= window) & ((j <= i) | (not is_causal))


@deviation("reference", "nothing_flows_from_outside", kind="convention")
@attend_by_visibility_rule
def whole_blocks(i: Any, j: Any, window: int, is_causal: bool) -> Any:
    """a query sees the block of window + 1 keys that it is in and the one on each side, whole.

    Shows: keys of these blocks that are farther than the window. Hides: a window of 0 or beyond the sequence.
    """
    blocks = np.abs(i // (window + 1) - j // (window + 1)) <= 1
    return blocks & within_window(i, j, 10**9, is_causal)


@deviation("reference", "translation")
@attend_by_visibility_rule
def blocks_apart(i: Any, j: Any, window: int, is_causal: bool) -> Any:
    """a query sees no key of another block of 16, however near.

    Shows: more than 16 tokens. Hides: shorter sequences.
    """
    return within_window(i, j, window, is_causal) & ((i // 16 == j // 16) | (i == j) | (j == np.max(j)) & (i > j))


@deviation("reference", "nothing_flows_from_outside", "translation")
@attend_by_visibility_rule
def first_token_is_always_seen(i: Any, j: Any, window: int, is_causal: bool) -> Any:
    """the first key is seen by every query, as an attention sink.

    Shows: queries beyond the first window. Hides: a window as long as the sequence.
    """
    return within_window(i, j, window, is_causal) | (j == 0)


@deviation("reference", "nothing_flows_from_outside")
@attend_by_visibility_rule
def window_at_least_4(i: Any, j: Any, window: int, is_causal: bool) -> Any:
    """the window is rounded up to a multiple of 4.

    Shows: windows such as 1, 2, 3 and 5. Hides: multiples of 4.
    """
    return within_window(i, j, -(-window // 4) * 4, is_causal)


# --- other steps ----------------------------------------------------------------------------------------------------


@deviation("reference", "sums_to_one", "window_counts_both_sides")
def keys_before_the_first_count(
    q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None
) -> Any:
    """the sequence is padded with keys and values of zeros in front, and the first queries attend to them.

    Shows: the first queries, with a window of 1 or more. Hides: queries beyond the first window.
    """
    k, v = (np.concatenate([_make_zero_rows(x, window), float64(x)], axis=-2) for x in (k, v))
    n, m = q.shape[-2], k.shape[-2]
    mask = sliding_window_mask(n=n + window, m=m, window=window, is_causal=is_causal)[window:]
    return scaled_dot_product_attention(q, k, v, mask, scale=scale)


def _make_zero_rows(x: Any, count: int) -> Any:
    return np.repeat(np.where(True, 0.0, float64(x)[..., :1, :]), count, axis=-2)


@deviation("reference", "sums_to_one", "convex")
def mask_after_the_softmax(q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None) -> Any:
    """weights outside the window are dropped after the softmax over all keys, and no longer sum to 1.

    Shows: a window shorter than the sequence. Hides: a window as long.
    """
    q, k = float64(q), float64(k)
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    p = softmax(np.matmul(q, np.swapaxes(k, -1, -2)) * scale, axis=-1)
    mask = sliding_window_mask(n=q.shape[-2], m=k.shape[-2], window=window, is_causal=is_causal)
    return np.matmul(rounded(np.where(mask, p, 0.0)), float64(v))


@deviation("reference", "scale_follows_the_width_of_queries", kind="convention")
def not_scaled(q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None) -> Any:
    """the scores are not scaled unless a scale is given, as in the book's exercise.

    Shows: the default scale with d_k > 1. Hides: d_k = 1, a given scale.
    """
    return local_attention(q, k, v, window=window, is_causal=is_causal, scale=1.0 if scale is None else scale)


@deviation("reference", "unscaled")
def scale_not_passed_on(q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None) -> Any:
    """a given scale is not passed on to attention.

    Shows: any scale but the default. Hides: the default.
    """
    return local_attention(q, k, v, window=window, is_causal=is_causal)


@deviation("reference", "wide_window")
def few_tokens_see_all(q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None) -> Any:
    """causality is left out where the window is as long as the sequence.

    Shows: is_causal and window >= m. Hides: shorter windows.
    """
    return local_attention(q, k, v, window=window, is_causal=is_causal and window < k.shape[-2], scale=scale)


@deviation("reference", "large_scores", kind="arithmetic")
def maximum_not_subtracted(
    q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None, held: Any
) -> Any:
    """the maximum is not subtracted from the scores, so that their exponentials overflow.

    Shows: scores above 11 in float16, 88 in float32 and bfloat16, 709 in float64. Hides: ordinary scores.
    """
    q, k = float64(q), float64(k)
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    seen = sliding_window_mask(n=q.shape[-2], m=k.shape[-2], window=window, is_causal=is_causal)
    e = held(np.exp(np.where(seen, np.matmul(q, np.swapaxes(k, -1, -2)) * scale, -np.inf)))
    return np.matmul(rounded(e / held(np.sum(e, axis=-1, keepdims=True))), float64(v))
