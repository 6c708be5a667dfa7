"""How attention_with_lse is drawn."""

from typing import Any

import numpy as np

from reference_numpy.attention_with_lse import attention_with_lse
from spec_tests.inputs.draw import Draw
from spec_tests.operations._serving import (
    SQUARE,
    WINDOWS,
    draw_options,
    draw_seeing_mask,
    draw_sinks,
    draw_window,
    maybe_blind_queries,
)
from spec_tests.operations.grouped_query_attention import (
    draw_fully_masked_rows,
    draw_heads,
    draw_unequal_causality,
)
from spec_tests.operations.scaled_dot_product_attention import MAX_SCORES, draw_batch, draw_dims
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import WIDER

OPTIONAL = ("mask", "sinks", "is_causal", "scale", "softcap", *WINDOWS)


def draw_inputs(draw: Draw, *optional: str, seeing: bool = False) -> tuple[Any, ...]:
    """Draw q, k, v and keywords, some of the optional ones among them. Each query sees a key, or a sink unless `seeing`."""
    used = draw.variants(*optional)
    if draw.one_of((False, True)):
        used |= draw.variants(*optional)  # in so large a family two options meet too rarely otherwise
    n, m, d_k, d_v = draw_dims(draw, square=bool(used & SQUARE), longest=1025)
    used -= set() if n == m else SQUARE
    h, h_kv = draw_heads(draw, MAX_SCORES // max(2 * n * m, 1))
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
    names = [name for name in WINDOWS if draw.operation.accepts(name)]
    used = draw.one_of(((), *((name,) for name in names), *((tuple(names),) if names else ())))
    for name in used:
        keywords |= draw_window(draw, name, max(arrays[0].shape[-2], arrays[1].shape[-2]))
    return arrays, keywords if not used or draw.one_of((True, False)) else {k: x for k, x in keywords.items() if k != "is_causal"}


def draw_lse(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call of which only the base of its lse is open."""
    q, k, v, keywords = draw_inputs(draw, "scale", seeing=True)
    return (q, k, v), keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    q, k, v, keywords = draw_inputs(draw, *OPTIONAL)
    return (q, k, v), keywords


declaration = Declaration(
    equation=attention_with_lse,
    arguments=arguments,
    core={"q": 3, "k": 3, "v": 3, "mask": 3},
    composed=True,
    results={"out": "", "lse": WIDER},
    open_questions={
        "causal_alignment": draw_unequal_lengths_and_windows,
        "fully_masked_rows": draw_fully_masked_rows,
        "lse_base": draw_lse,
    },
    linear=("v",),
)
