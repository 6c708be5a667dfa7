"""How attention_with_lse is drawn, and what the operations around it share: sinks, softcaps and windows."""

from typing import Any

import numpy as np

from spec_tests.inputs.draw import Draw, single
from spec_tests.operations.grouped_query_attention import (
    HEAD_COUNTS,
    draw_fully_masked_rows,
    draw_heads,
    draw_unequal_causality,
)
from spec_tests.operations.scaled_dot_product_attention import MAX_SCORES, SCALES, draw_batch, draw_dims
from spec_tests.specification.formats import WIDER

composed = True
core = {"q": 3, "k": 3, "v": 3, "mask": 3}
results = {"out": "", "lse": WIDER}

SOFTCAPS = single(30.0, 50.0, 5.0, 1.0, 0.5, 1000.0)

OPTIONAL = ("mask", "sinks", "is_causal", "scale", "softcap", "left_window", "right_window")

SQUARE = {"is_causal", "left_window", "right_window"}  # which are defined for n = m


def draw_sinks(draw: Draw, h: int) -> np.ndarray:
    """Draw a logit for each head, near the scores or apart from them. In few examples some are −∞, which is no sink."""
    sinks = draw.rng.standard_normal(h) * draw.one_of((1.0, 4.0)) + draw.one_of((0.0, 0.0, -10.0, 5.0))
    absent = draw.rng.random(h) < draw.one_of((0.0, 0.0, 0.0, 0.5))
    return np.where(absent, -np.inf, draw.held(sinks))


def draw_window(draw: Draw, name: str, n: int) -> dict[str, Any]:
    """Draw how far a window reaches: nowhere, to about the half, to the first or last key, or one less or more."""
    return draw.keyword(name, (draw.near(0, n // 2, n - 1, low=0, high=n + 1),))


def draw_options(draw: Draw, used: set[str], n: int) -> dict[str, Any]:
    """Draw the keywords of the family that are used, but for those that are arrays."""
    keywords: dict[str, Any] = {"is_causal": True} if "is_causal" in used else {}
    keywords |= draw.keyword("scale", (*SCALES, None)) if "scale" in used else {}
    keywords |= draw.keyword("softcap", SOFTCAPS) if "softcap" in used else {}
    for name in ("left_window", "right_window"):
        keywords |= draw_window(draw, name, n) if name in used else {}
    return keywords


def draw_seeing_mask(draw: Draw, heads: tuple[tuple[int, ...], ...], n: int, m: int, used: set[str]) -> np.ndarray:
    """Draw a mask for one of these batches. Each query keeps a key that causality and windows leave: its own."""
    mask = draw.mask(draw.shape.one_of(heads), n, m)
    if not used & SQUARE:
        return mask
    return mask | np.eye(n, dtype=bool) if mask.ndim > 1 and mask.shape[-2] == n else np.ones(mask.shape, dtype=bool)


def maybe_blind_queries(draw: Draw, mask: np.ndarray, n: int, m: int) -> np.ndarray:
    """Return the mask as it is, or with queries that see no key. Without a sink, what those give is a convention."""
    if not draw.one_of((False, False, False, True)):
        return mask
    return np.broadcast_to(mask, (*mask.shape[:-2], n, m)) & (draw.rng.random((n, 1)) < 0.5)


def draw_inputs(draw: Draw, *optional: str, seeing: bool = False) -> tuple[Any, ...]:
    """Draw q, k, v and keywords, some of the optional ones among them. Each query sees a key, or a sink unless `seeing`."""
    used = draw.variants(*optional)
    if draw.one_of((False, True)):
        used |= draw.variants(*optional)  # in so large a family two options meet too rarely otherwise
    n, m, d_k, d_v = draw_dims(draw, square=bool(used & SQUARE), longest=257)
    used -= set() if n == m else SQUARE
    h, h_kv = draw_heads(draw, tuple(h for h in HEAD_COUNTS if h * n * m <= MAX_SCORES // 2) or (1, 2))
    b = draw_batch(draw, h * n * m)
    keywords = draw_options(draw, used, n)
    if "sinks" in used:
        keywords["sinks"] = draw_sinks(draw, h)
    if "mask" in used:
        mask = draw_seeing_mask(draw, ((*b, h), (*b, 1), (h,)), n, m, used)
        has_sink = not seeing and "sinks" in used and bool(np.all(np.isfinite(keywords["sinks"])))
        keywords["mask"] = maybe_blind_queries(draw, mask, n, m) if has_sink else mask
    q, k = draw.vectors((*b, h, n, d_k)), draw.vectors((*b, h_kv, m, d_k))
    return q, k, draw.vectors((*b, h_kv, m, d_v)), keywords


def draw_unequal_lengths_and_windows(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw causality or windows, or several of them, with n ≠ m."""
    arrays, keywords = draw_unequal_causality(draw)
    names = [name for name in ("left_window", "right_window") if draw.operation.accepts(name)]
    used = draw.one_of(((), *((name,) for name in names), *((tuple(names),) if names else ())))
    for name in used:
        keywords |= draw_window(draw, name, max(arrays[0].shape[-2], arrays[1].shape[-2]))
    return arrays, keywords if not used or draw.one_of((True, False)) else {k: x for k, x in keywords.items() if k != "is_causal"}


open_questions = {"causal_alignment": draw_unequal_lengths_and_windows, "fully_masked_rows": draw_fully_masked_rows}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    q, k, v, keywords = draw_inputs(draw, *OPTIONAL)
    return (q, k, v), keywords
