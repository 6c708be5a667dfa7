"""How latent_attention_absorbed is drawn."""

from typing import Any

import numpy as np

from reference_numpy.latent_attention_absorbed import latent_attention_absorbed
from spec_tests.inputs.draw import Draw, single, within_domain
from spec_tests.operations.latent_attention import (
    BATCHES,
    HEADS,
    QUERIES,
    WITH_LENGTHS,
    draw_lengths,
    draw_rows,
    lowest,
    with_lengths,
)
from spec_tests.operations.paged_attention import (
    draw_lengths_in_pages,
    draw_page_counts,
    draw_physical_pages,
    draw_table,
)
from spec_tests.specification.declaration import Declaration

WIDTHS = (5, 3, 4, 8, 2, 12)
PAGE_SIZES = (2, 4, 1, 3, 8, 16)
SCALES = single(0.5, 1.0, 0.125, 0.3, -0.6)


def draw_arrays(draw: Draw, *, least: int = 1, batches: tuple[tuple[int, ...], ...] = BATCHES) -> tuple[np.ndarray, ...]:
    """Draw queries and a cache, with n ≤ m and so many rows at least."""
    n = draw.size("n", QUERIES)
    m, h, d_k = draw_rows(draw, n, least=least), draw.size("h", HEADS), draw.size("d_k", WIDTHS)
    batch = draw.batch(batches)
    return draw.vectors((*batch, h, n, d_k)), draw.vectors((*batch, m, d_k))


def draw_options(draw: Draw, d_k: int) -> dict[str, Any]:
    rank = draw.keyword("rank", tuple(dict.fromkeys((max(d_k - 1, 1), max(d_k // 2, 1), 1, d_k))))
    return rank | draw.keyword("scale", SCALES) | draw.keyword("is_causal", (True, True, False))


def draw_inputs(draw: Draw, *, used: bool | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call in which every query sees a row. used: whether it has lengths; None: maybe."""
    used = with_lengths(draw) if used is None else used
    q, cache = draw_arrays(draw, batches=WITH_LENGTHS if used else BATCHES)
    keywords = draw_options(draw, q.shape[-1])
    if not used:
        return (q, cache), keywords
    return (q, cache, draw_lengths(draw, cache.shape[:-2], cache.shape[-2], low=lowest(keywords, q.shape[-2]))), keywords


def draw_paged(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call whose cache lies in pages, which rows may share; one without pages where it can have none."""
    if not (draw.operation.accepts("block_table") and draw.operation.accepts("lengths")):
        return draw_inputs(draw)
    within_domain(draw, batch_dims=1)
    n, h, d_k = draw.size("n", QUERIES), draw.size("h", HEADS), draw.size("d_k", WIDTHS)
    page_size, pages = draw_page_counts(draw, n, PAGE_SIZES)
    (b,) = draw.batch(WITH_LENGTHS)
    physical = draw_physical_pages(draw, b, pages)
    keywords = draw_options(draw, d_k)
    lengths = draw_lengths_in_pages(draw, b, page_size, pages, low=lowest(keywords, n))
    q, cache = draw.vectors((b, h, n, d_k)), draw.vectors((physical, page_size, d_k))
    return (q, cache, lengths, draw_table(draw, b, pages, physical)), keywords


def draw_blind_queries(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw more queries than rows, under causality."""
    q, cache = draw_arrays(draw)
    more = cache.shape[-2] + draw.integer(1, 2)
    draw.size("n", (more,))
    keywords = {name: x for name, x in draw_options(draw, q.shape[-1]).items() if name != "is_causal"}
    return (draw.vectors((*q.shape[:-2], more, q.shape[-1])), cache), keywords


declaration = Declaration(
    equation=latent_attention_absorbed,
    arguments=draw_inputs,
    core={"q": 3, "cache": 2, "lengths": 0, "block_table": 1},
    composed=True,
    cost=2,
    results={"out": "", "lse": "wider"},
    open_questions={"fully_masked_rows": draw_blind_queries, "lse_base": lambda draw: draw_inputs(draw, used=False)},
    pooled={"cache": "block_table"},
    branches={"paged": draw_paged},
    short=True,
)
