"""How paged_attention is drawn."""

from typing import Any

import numpy as np

from reference_numpy.paged_attention import paged_attention
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.operations._caches import hold_both
from spec_tests.operations.attention_with_kv_cache import OPTIONAL, QUERIES, draw_keywords, shortest_length
from spec_tests.operations.grouped_query_attention import draw_heads
from spec_tests.operations.kv_cache_append import draw_lengths, draw_row_count
from spec_tests.operations.scaled_dot_product_attention import MAX_SCORES, draw_widths, has_wide_heads
from spec_tests.specification.declaration import Declaration

PAGE_SIZES = (1, 2, 4, 8, 16, 16, 32, 5)

PAGES = (1, 2, 3, 5, 8)


def draw_page_counts(draw: Draw, n: int, sizes: tuple[int, ...] = PAGE_SIZES) -> tuple[int, int]:
    """Draw page_size, and how many pages a row has: enough for n slots."""
    page_size = draw.size("page_size", sizes)
    pages = draw.size("pages", PAGES)
    if page_size * pages < n:
        pages = draw.size("pages", (-(-n // page_size),))
    if page_size * pages < n:
        raise NotImplementedVariant(f"its domain has no cache of {n} slots")
    return page_size, pages


def draw_physical_pages(draw: Draw, b: int, pages: int) -> int:
    """Draw P, the number of physical pages: as many as the table has entries, more, or so few that rows share them."""
    return draw.size("P", (b * pages, b * pages + 1, pages, b * pages + 7))


def draw_sizes(draw: Draw) -> dict[str, int]:
    """Draw n, d_k, d_v, page_size, pages, b, h, h_kv, and P, the number of physical pages."""
    n, wide = draw.size("n", QUERIES), has_wide_heads(draw)
    d_k, d_v = draw_widths(draw, wide=wide)
    page_size, pages = draw_page_counts(draw, n, tuple(s for s in PAGE_SIZES if s <= 5) if wide else PAGE_SIZES)
    (b,) = draw_row_count(draw)
    slots = page_size * pages
    h, h_kv = draw_heads(draw, MAX_SCORES // max(b * n * slots, 1))
    physical = draw_physical_pages(draw, b, pages)
    return {
        "n": n, "d_k": d_k, "d_v": d_v, "page_size": page_size, "pages": pages,
        "M": slots, "b": b, "h": h, "h_kv": h_kv, "P": physical,
    }  # fmt: skip


def draw_table(draw: Draw, b: int, pages: int, physical: int) -> np.ndarray:
    """Draw the table: pages of its own for each row, in any order, as far as there are so many; or any pages."""
    if physical >= b * pages and draw.one_of((True, True, False)):
        return draw.rng.permutation(physical)[: b * pages].reshape(b, pages)
    return draw.rng.integers(0, physical, (b, pages))


def draw_lengths_in_pages(draw: Draw, b: int, page_size: int, pages: int, *, low: int) -> np.ndarray:
    """Draw the length of each row, from low on: often one that fills its last page, or one slot more or less."""
    return draw_lengths(draw, b, *(page_size * i for i in range(1, pages)), low=low, high=page_size * pages)


def draw_pages(draw: Draw, sizes: dict[str, int], keywords: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """Draw queries and the two arrays of pages, in the format that the keywords name."""
    s = sizes
    q, k = draw.vectors((s["b"], s["h"], s["n"], s["d_k"])), draw.vectors((s["P"], s["page_size"], s["h_kv"], s["d_k"]))
    v = draw.vectors((s["P"], s["page_size"], s["h_kv"], s["d_v"]))
    return (q, *hold_both(draw, keywords, k, v, head_axis=2))


def draw_inputs(draw: Draw, *optional: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call in which every query sees a key or a finite sink. The last page is often full, or has one slot more or less."""
    sizes = draw_sizes(draw)
    keywords = draw_keywords(draw, sizes, *optional, causal=True)
    low = min(shortest_length(keywords, sizes["n"]), sizes["M"])
    lengths = draw_lengths_in_pages(draw, sizes["b"], sizes["page_size"], sizes["pages"], low=low)
    return (*draw_pages(draw, sizes, keywords), draw_table(draw, sizes["b"], sizes["pages"], sizes["P"]), lengths), keywords


def draw_blind_queries(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw rows so short that some queries see no key: of length 0, or shorter than there are queries."""
    sizes = draw_sizes(draw)
    lengths = draw_lengths(draw, sizes["b"], low=0, high=max(sizes["n"] - 1, 0))
    lengths[draw.integer(0, sizes["b"] - 1)] = 0
    pages, table = draw_pages(draw, sizes, {}), draw_table(draw, sizes["b"], sizes["pages"], sizes["P"])
    return (*pages, table, lengths), draw.keyword("is_causal", (True,))


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_inputs(draw, *OPTIONAL)


declaration = Declaration(
    equation=paged_attention,
    arguments=arguments,
    core={"q": 3, "block_table": 1, "lengths": 0},
    composed=True,
    open_questions={"fully_masked_rows": draw_blind_queries},
    formats={"k_pages": "cache_dtype", "v_pages": "cache_dtype"},
    positive=("k_scale", "v_scale"),
    wide_arguments=("k_scale", "v_scale"),
    short=True,
    linear=("v_pages",),
)
