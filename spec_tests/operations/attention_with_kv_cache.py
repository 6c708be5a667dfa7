"""How attention_with_kv_cache is drawn."""

from typing import Any

import numpy as np

from reference_numpy.attention_with_kv_cache import attention_with_kv_cache
from spec_tests.inputs.draw import SMALL, Draw
from spec_tests.operations._caches import draw_format, has_narrow_caches, hold_both
from spec_tests.operations._serving import WINDOWS, draw_options, draw_sinks
from spec_tests.operations.grouped_query_attention import draw_heads
from spec_tests.operations.kv_cache_append import draw_lengths, draw_row_count, draw_slots
from spec_tests.operations.scaled_dot_product_attention import MAX_SCORES, draw_widths, has_wide_heads
from spec_tests.specification.declaration import Declaration

OPTIONAL = ("sinks", "scale", "softcap", *WINDOWS, "cache_dtype")

QUERIES = (1, 2, 1, 3, 4, 8, 16)

BLOCKS = (16, 64, 128)  # in which kernels read a cache


def draw_sizes(draw: Draw) -> dict[str, int]:
    """Draw n, M, d_k, d_v, h, h_kv and b: few queries, as when decoding, and a cache that may hold no more than they."""
    n, wide = draw.size("n", QUERIES), has_wide_heads(draw)
    slots = draw.size("M", (*SMALL, 33)) if wide else draw.dims(M=1025 if n <= SMALL[3] else 257)[0]
    slots, (d_k, d_v) = draw_slots(draw, slots, n), draw_widths(draw, wide=wide)
    (b,) = draw_row_count(draw)
    h, h_kv = draw_heads(draw, MAX_SCORES // max(b * n * slots, 1))
    return {"n": n, "M": slots, "d_k": d_k, "d_v": d_v, "h": h, "h_kv": h_kv, "b": b}


def draw_keywords(draw: Draw, sizes: dict[str, int], *optional: str, causal: bool) -> dict[str, Any]:
    """Draw some of the optional keywords, and is_causal if the function takes it and the default is not drawn."""
    used = draw.variants(*(name for name in optional if name != "cache_dtype" or has_narrow_caches(draw)))
    keywords = draw_options(draw, used, sizes["M"]) | draw.keyword("is_causal", (causal, causal, not causal))
    if "sinks" in used:
        keywords["sinks"] = draw_sinks(draw, sizes["h"])
    if "cache_dtype" not in used:
        return keywords
    in_pages = "P" in sizes
    slots = tuple(sizes[name] for name in (("P", "page_size", "h_kv") if in_pages else ("b", "h_kv", "M")))
    return keywords | draw_format(draw, slots, head_axis=2 if in_pages else 1)


def shortest_length(keywords: dict[str, Any], n: int, *, causal: bool = True) -> int:
    """Return the least length at which every query sees a key, or has a finite sink."""
    if "sinks" in keywords and np.all(np.isfinite(keywords["sinks"])):
        return 0
    windowed = keywords.get("left_window") is not None or keywords.get("right_window") is not None
    return n if keywords.get("is_causal", causal) or windowed else 1


def draw_cache(draw: Draw, sizes: dict[str, int], keywords: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """Draw queries and the two arrays of a cache, in the format that the keywords name."""
    s = sizes
    q, k = draw.vectors((s["b"], s["h"], s["n"], s["d_k"])), draw.vectors((s["b"], s["h_kv"], s["M"], s["d_k"]))
    v = draw.vectors((s["b"], s["h_kv"], s["M"], s["d_v"]))
    return (q, *hold_both(draw, keywords, k, v))


def draw_inputs(draw: Draw, *optional: str, causal: bool | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call in which every query sees a key or a finite sink. causal: is_causal, if it is not drawn."""
    sizes = draw_sizes(draw)
    keywords = draw_keywords(draw, sizes, *optional, causal=True)
    if causal is not None and "is_causal" in keywords:
        keywords["is_causal"] = causal
    low = shortest_length(keywords, sizes["n"])
    lengths = draw_lengths(draw, sizes["b"], sizes["M"] // 2, *BLOCKS, low=min(low, sizes["M"]), high=sizes["M"])
    return (*draw_cache(draw, sizes, keywords), lengths), keywords


def draw_blind_queries(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw rows so short that some queries see no key: of length 0, or shorter than there are queries."""
    sizes = draw_sizes(draw)
    lengths = draw_lengths(draw, sizes["b"], low=0, high=max(sizes["n"] - 1, 0))
    lengths[draw.integer(0, sizes["b"] - 1)] = 0
    return (*draw_cache(draw, sizes, {}), lengths), draw.keyword("is_causal", (True,))


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_inputs(draw, *OPTIONAL)


declaration = Declaration(
    equation=attention_with_kv_cache,
    arguments=arguments,
    core={"q": 3, "k_cache": 3, "v_cache": 3, "lengths": 0, "k_scale": 2, "v_scale": 2},
    composed=True,
    open_questions={"fully_masked_rows": draw_blind_queries},
    formats={"k_cache": "cache_dtype", "v_cache": "cache_dtype"},
    positive=("k_scale", "v_scale"),
    wide_arguments=("k_scale", "v_scale"),
    short=True,
    linear=("v_cache",),
)
