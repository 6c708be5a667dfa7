"""What goes wrong with caps and windows of attention: where they come in, and whom they count."""

from typing import Any

import numpy as np

from reference_numpy.attention_with_lse import attention_with_lse

from . import deviation
from .attention_with_lse import attend, plain_scores, scale_or_default, seen_by


@deviation(
    "reference", "nothing_flows_where_hidden",
    seen=("https://github.com/Dao-AILab/flash-attention/pull/1025", "https://github.com/emmtrix/emx-onnx-cgen/pull/731"),
)  # fmt: skip
def cap_after_the_mask(
    q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, softcap: Any = None, **options: Any
) -> Any:
    """the scores are capped after they were masked: a hidden key has the score −c, and shows.

    Shows: a mask or causality with a cap that is not large. Hides: a cap of 50 and more in narrow dtypes; no hidden keys.
    """
    seen = seen_by(q, k, mask, options)
    scores = plain_scores(q, k, None, options.get("scale"), softcap)
    if seen is not None:
        scores = np.where(seen, scores, -np.inf if softcap is None else -softcap)
    return attend(q, k, v, scores, sinks)


@deviation("reference", "capped_scores", seen=("https://github.com/sgl-project/sgl-kernel-xpu/pull/491",))
def cap_ignored(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, softcap: Any = None, **options: Any) -> Any:
    """the cap is accepted and not used.

    Shows: scores near the cap. Hides: a cap far above the scores.
    """
    return attention_with_lse(q, k, v, mask, sinks, **options)


@deviation("reference", seen=("https://github.com/huggingface/trl/pull/5691",))
def scale_outside_the_cap(
    q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, scale: Any = None, softcap: Any = None, **options: Any
) -> Any:
    """the scores are capped before they are scaled: scale · c · tanh(q·k/c).

    Shows: scores near the cap. Hides: a cap far above the scores; a scale of 1.
    """
    if softcap is None:
        return attention_with_lse(q, k, v, mask, sinks, scale=scale, **options)
    scores = plain_scores(q, k, None, 1.0, softcap) * scale_or_default(q, scale)
    seen = seen_by(q, k, mask, options)
    return attend(q, k, v, scores if seen is None else np.where(seen, scores, -np.inf), sinks)


@deviation("reference", "a_large_cap_is_none")
def scores_not_divided_by_the_cap(
    q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, softcap: Any = None, **options: Any
) -> Any:
    """the capped score is c · tanh(s), without the division by c.

    Shows: any cap but 1. Hides: a cap of 1; scores of 0.
    """
    if softcap is None:
        return attention_with_lse(q, k, v, mask, sinks, **options)
    scores, seen = plain_scores(q, k, None, options.get("scale"), 1.0) * softcap, seen_by(q, k, mask, options)
    return attend(q, k, v, scores if seen is None else np.where(seen, scores, -np.inf), sinks)


@deviation("reference", "capped_scores_are_odd")
def cap_from_above_alone(
    q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, softcap: Any = None, **options: Any
) -> Any:
    """the cap bounds scores above 0, and leaves those below as they are.

    Shows: scores below 0 near the cap. Hides: scores above 0; a cap far above the scores.
    """
    if softcap is None:
        return attention_with_lse(q, k, v, mask, sinks, **options)
    seen, scale = seen_by(q, k, mask, options), options.get("scale")
    scores = plain_scores(q, k, None, scale)
    scores = np.where(scores > 0, plain_scores(q, k, None, scale, softcap), scores)
    return attend(q, k, v, scores if seen is None else np.where(seen, scores, -np.inf), sinks)


# --- windows --------------------------------------------------------------------------------------------------------


@deviation(
    "reference",
    "windows_are_masks",
    kind="convention",
    seen=(
        "https://github.com/huggingface/transformers/issues/39408",
        "https://github.com/huggingface/transformers/issues/29623",
        "https://github.com/facebookresearch/xformers/issues/923",
    ),
)
def window_counts_itself(
    q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, left_window: Any = None, **options: Any
) -> Any:
    """a left window of w reaches w − 1 keys back: the query's own is counted.

    Shows: any left window within the sequence. Hides: none, or one of 0, which it leaves as it is.
    """
    left_window = None if left_window is None else max(left_window - 1, 0)
    return attention_with_lse(q, k, v, mask, sinks, left_window=left_window, **options)


@deviation("reference", "windows_are_masks", seen=("https://github.com/zml/zml/pull/763",))
def left_window_ignored(
    q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, left_window: Any = None, **options: Any
) -> Any:
    """the left window is accepted and not used.

    Shows: a left window within the sequence. Hides: short sequences.
    """
    return attention_with_lse(q, k, v, mask, sinks, **options)


@deviation("reference", "windows_are_masks")
def right_window_ignored(
    q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, *, right_window: Any = None, **options: Any
) -> Any:
    """the right window is accepted and not used.

    Shows: a right window within the sequence. Hides: causality, under which it has nothing to hide.
    """
    return attention_with_lse(q, k, v, mask, sinks, **options)


@deviation("reference", "windows_are_masks")
def left_window_for_both_sides(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    sinks: Any = None,
    *,
    left_window: Any = None,
    right_window: Any = None,
    **options: Any,
) -> Any:
    """the left window holds on the right as well, where no right one is given.

    Shows: a left window alone, without causality. Hides: causality.
    """
    right_window = left_window if right_window is None else right_window
    return attention_with_lse(q, k, v, mask, sinks, left_window=left_window, right_window=right_window, **options)


@deviation("reference", "windows_are_masks", "a_wide_window_is_none")
def right_window_undoes_causality(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    sinks: Any = None,
    *,
    is_causal: bool = False,
    right_window: Any = None,
    **options: Any,
) -> Any:
    """with a right window the causal mask is left out.

    Shows: causality with a right window of 1 or more. Hides: either alone.
    """
    is_causal = is_causal and right_window is None
    return attention_with_lse(q, k, v, mask, sinks, is_causal=is_causal, right_window=right_window, **options)


@deviation("reference", "own_key_alone")
def window_of_zero_is_none(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    sinks: Any = None,
    *,
    left_window: Any = None,
    right_window: Any = None,
    **options: Any,
) -> Any:
    """a window of 0 is treated as no window, as `if window:` does.

    Shows: a window of 0. Hides: every other.
    """
    return attention_with_lse(q, k, v, mask, sinks, left_window=left_window or None, right_window=right_window or None, **options)


@deviation("reference", "windows_are_masks")
def window_replaces_the_mask(q: Any, k: Any, v: Any, mask: Any = None, sinks: Any = None, **options: Any) -> Any:
    """the mask is ignored if a window is given.

    Shows: a mask together with a window. Hides: either alone.
    """
    windowed = options.get("left_window") is not None or options.get("right_window") is not None
    return attention_with_lse(q, k, v, None if windowed else mask, sinks, **options)
