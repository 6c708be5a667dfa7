"""What goes wrong with attention that returns lse: what lse is the logarithm of."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from reference_numpy._heads import capped_scores, repeated_heads, seen_keys, with_sinks
from reference_numpy._marks import float64
from reference_numpy.attention_with_lse import attention_with_lse
from reference_numpy.logsumexp import logsumexp
from reference_numpy.softmax import softmax

from . import deviation

BASE_TWO = (
    "https://github.com/sgl-project/sglang/issues/40903",
    "https://github.com/flashinfer-ai/flashinfer/issues/2113",
    "https://github.com/flashinfer-ai/flashinfer/issues/4485",
)


def change_lse(change: Callable[..., Any]) -> Callable[..., Any]:
    """Return attention whose out is right, and whose lse is change(lse, q, k, the other keywords)."""

    @wraps(change)
    def attention(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
        out, lse = attention_with_lse(q, k, v, mask, sinks, **options)
        return out, change(lse, q, k, v, {"mask": mask, "sinks": sinks, **options})

    del attention.__wrapped__
    return attention


def attend(q: Any, k: Any, v: Any, scores: Any, sinks: Any = None) -> Any:
    """Return attention and lse for these scores of query heads, with a sink of each, if there are sinks."""
    (v,) = repeated_heads("", float64(q), float64(v))
    scores = with_sinks(scores, sinks)
    return np.matmul(softmax(scores, axis=-1)[..., : v.shape[-2]], v), logsumexp(scores, axis=-1)


def scale_or_default(q: Any, scale: Any) -> Any:
    return 1 / np.sqrt(q.shape[-1]) if scale is None else scale


def seen_by(q: Any, k: Any, mask: Any, options: dict[str, Any]) -> Any:
    """Return which keys each query sees."""
    names = ("is_causal", "left_window", "right_window")
    is_causal, left, right = (options.get(name) for name in names)
    return seen_keys("", q.shape[-2], k.shape[-2], mask, bool(is_causal), left, right)


def plain_scores(q: Any, k: Any, seen: Any, scale: Any, softcap: Any = None) -> Any:
    """Return the scores of the equation."""
    (k,) = repeated_heads("", float64(q), float64(k))
    return capped_scores(float64(q), k, seen, scale_or_default(q, scale), softcap)


# --- lse ------------------------------------------------------------------------------------------------------------


@deviation("reference", "lse_of_scores", "lse_base", "parts_make_the_whole", kind="convention", seen=BASE_TWO)
@change_lse
def lse_in_bits(lse: Any, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    """lse is the logarithm to the base 2.

    Shows: any lse but 0. Hides: nothing; a merge to the base 2 does not see it.
    """
    return lse * float(1 / np.log(2.0))


@deviation("reference", "lse_of_scores", "equal_keys")
@change_lse
def mean_of_exponentials(lse: Any, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    """the exponentials are averaged, not summed.

    Shows: two keys or more. Hides: one key; parts of the same size still merge to the right out.
    """
    return lse - float(np.log(k.shape[-2]))


@deviation("reference", "lse_of_scores")
@change_lse
def scale_missing_from_lse(lse: Any, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    """lse is that of the scores before they are scaled.

    Shows: any scale but 1. Hides: d_k = 1 without a scale.
    """
    return attention_with_lse(q, k, v, **{**options, "scale": 1.0})[1]


@deviation("reference", "lse_of_scores")
@change_lse
def cap_missing_from_lse(lse: Any, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    """lse is that of the scores before they are capped.

    Shows: scores near the cap. Hides: a large cap, or none.
    """
    return attention_with_lse(q, k, v, **{**options, "softcap": None})[1]


@deviation("reference", "sinks_take_their_share")
@change_lse
def sink_missing_from_lse(lse: Any, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    """lse is that of the keys alone, but out is reduced by the sink: such parts merge as if there were no sink.

    Shows: sinks near the scores. Hides: no sinks, or sinks of −∞.
    """
    return attention_with_lse(q, k, v, **{**options, "sinks": None})[1]


@deviation("reference", "windows_are_masks")
@change_lse
def lse_of_all_keys(lse: Any, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    """lse is that of all keys, whatever causality and the window hide.

    Shows: causality or a window. Hides: neither.
    """
    return attention_with_lse(
        q, k, v, options["mask"], options["sinks"], scale=options.get("scale"), softcap=options.get("softcap")
    )[1]


@deviation("blind_queries", "fully_masked_rows")
@change_lse
def finite_lse_of_a_blind_query(lse: Any, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    """a query that sees no key has an lse of −10⁴: its part still shows in a merge whose other scores are as low.

    Shows: a query that sees no key. Hides: all others.
    """
    return np.where(np.isneginf(getattr(lse, "value", lse)), -1e4, lse)


@deviation("blind_queries", "fully_masked_rows")
@change_lse
def plus_infinity_of_a_blind_query(lse: Any, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    """a query that sees no key has an lse of +∞, as FlashAttention's first versions gave it.

    Shows: a query that sees no key. Hides: all others.
    """
    return np.where(np.isneginf(getattr(lse, "value", lse)), np.inf, lse)


@deviation("lse_is_blind_to_values")
@change_lse
def zero_values_are_padding(lse: Any, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Any:
    """keys whose value is all zeros are missing from lse, as in code that recognizes padding by its zeros.

    Shows: a key with a value of 0. Hides: all others; out.
    """
    filled = np.any(getattr(v, "value", v) != 0, axis=-1)
    filled = np.any(filled, axis=0) if filled.ndim >= v.ndim else filled  # the draws of a sample
    own = np.repeat(filled, q.shape[-3] // k.shape[-3], axis=-2)[..., None, :]
    mask = own if options["mask"] is None else np.logical_and(options["mask"], own)
    return attention_with_lse(q, k, v, **{**options, "mask": mask})[1]


# --- both results ---------------------------------------------------------------------------------------------------


@deviation("reference", "is_attention", "lse_of_scores", seen=BASE_TWO[:1])
def powers_of_two(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, scale: Any = None, **options: Any) -> Any:
    """the weights are powers of 2 of scores that were not multiplied by log₂ e, so that out and lse agree with each other.

    Shows: scores that differ. Hides: equal scores in out; scores of 0.
    """
    return attention_with_lse(q, k, v, mask, sinks, scale=scale_or_default(q, scale) * float(np.log(2.0)), **options)


@deviation("reference", "repeated_heads", "is_attention", kind="convention")
def shared_heads_in_turn(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """query head i uses key/value head i mod h_kv, as where heads are tiled, not repeated.

    Shows: two shared heads or more, and more query heads. Hides: one shared head; as many of both.
    """
    turn = np.arange(q.shape[-3]) % k.shape[-3]
    return attention_with_lse(q, float64(k)[..., turn, :, :], float64(v)[..., turn, :, :], mask, sinks, **options)


@deviation("reference", "large_scores", kind="arithmetic")
def maximum_not_subtracted(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    sinks: Any = None,
    *,
    scale: Any = None,
    softcap: Any = None,
    held: Any,
    **options: Any,
) -> Any:
    """the maximum is not subtracted from the scores, so that their exponentials overflow.

    Shows: scores above 11 in float16, 88 in float32 and bfloat16, 709 in float64. Hides: ordinary scores.
    """
    scores = with_sinks(plain_scores(q, k, seen_by(q, k, mask, options), scale, softcap), sinks)
    (v,) = repeated_heads("", float64(q), float64(v))
    e = held(np.exp(scores))
    total = held(np.sum(e, axis=-1, keepdims=True))
    return np.matmul((e / total)[..., : v.shape[-2]], v), np.log(total)[..., 0]
