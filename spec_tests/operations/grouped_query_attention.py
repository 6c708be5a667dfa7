"""How grouped_query_attention is drawn."""

from typing import Any

from reference_numpy.grouped_query_attention import grouped_query_attention
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.operations._serving import SQUARE, WINDOWS, draw_options, draw_seeing_mask, draw_sinks
from spec_tests.operations.scaled_dot_product_attention import (
    MAX_SCORES,
    draw_aligned_dims,
    draw_batch,
    draw_blind_rows,
    draw_dims,
    draw_unequal_lengths,
    keep_a_key_in_each_row,
)
from spec_tests.specification.declaration import Declaration

HEAD_COUNTS = (1, 2, 3, 4, 4, 6, 8)

MANY_HEADS = (10, 12, 14, 16, 20, 28, 32, 40, 64)  # as models have them, and groups of more than four heads

MANY_HEADS_SHARE = 6  # one example in so many has many heads, where they are few enough for its size


def draw_heads(draw: Draw, most: int, pool: tuple[int, ...] = HEAD_COUNTS, *, least: int = 1) -> tuple[int, int]:
    """Draw the numbers of query heads, from `least` to `most`, and of key/value heads, which divides the former."""
    if (many := tuple(h for h in MANY_HEADS if h <= most)) and draw.shape.integer(
        0, MANY_HEADS_SHARE - 1
    ) == MANY_HEADS_SHARE - 1:
        pool = many
    else:
        pool = tuple(h for h in pool if least <= h <= most) or ((1, 2) if least == 1 else (least,))
    stated = draw.operation.domain.get("h_kv")
    if stated is not None and not isinstance(stated, str):
        numbers = tuple(i for i in stated if i is not None)
        if len(numbers) < len(stated) and (not numbers or draw.shape.one_of((True, False))):  # None: as many as of queries
            draw.drawn_sizes["h_kv"] = h = draw.size("h", pool)
            return h, h
        stated = numbers
        pool = tuple(h for h in pool if any(h % i == 0 for i in stated)) or tuple(i * group for i in stated for group in (1, 2))
    h = draw.size("h", pool)
    between = tuple(i for i in range(h - 1, 1, -1) if h % i == 0)  # where the order of the groups shows
    h_kv = draw.size("h_kv", (h, *between * 3, 1))
    if h % h_kv:
        raise NotImplementedVariant(f"its domain has no heads that {h_kv} heads of keys and values serve evenly")
    return h, h_kv


def draw_inputs(draw: Draw, *optional: str) -> tuple[Any, ...]:
    """Draw q, k, v and keywords, some of the optional ones among them. Each query has a key."""
    used = draw.variants(*optional)
    n, m, d_k, d_v = draw_dims(draw, square=bool(used & SQUARE), longest=1025)
    used -= set() if n == m else SQUARE
    h, h_kv = draw_heads(draw, MAX_SCORES // max(2 * n * m, 1))
    b = draw_batch(draw, h * n * m)
    keywords = draw_options(draw, used, n)
    if "sinks" in used:
        keywords["sinks"] = draw_sinks(draw, h)
    if "mask" in used:
        batches = ((*b, h), (*b, 1), (h,))
        if used.intersection(WINDOWS):
            keywords["mask"] = draw_seeing_mask(draw, batches, n, m, used)
        else:
            mask = draw.mask(draw.shape.one_of(batches), n, m)
            keywords["mask"] = keep_a_key_in_each_row(draw, mask) if "is_causal" in used else mask
    q, k = draw.vectors((*b, h, n, d_k)), draw.vectors((*b, h_kv, m, d_k))
    return q, k, draw.vectors((*b, h_kv, m, d_v)), keywords


def _draw_arrays(draw: Draw, n: int, m: int, d_k: int, d_v: int) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Draw q, k and v, and return them with the batch and the query heads."""
    h, h_kv = draw_heads(draw, MAX_SCORES // max(2 * n * m, 1))
    b = draw_batch(draw, h * n * m)
    shapes = ((*b, h, n, d_k), (*b, h_kv, m, d_k), (*b, h_kv, m, d_v))
    return tuple(draw.vectors(shape) for shape in shapes), (*b, h)


def draw_unequal_causality(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return _draw_arrays(draw, *draw_unequal_lengths(draw))[0], {"is_causal": True}


def draw_fully_masked_rows(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    n, m, d_k, d_v = draw_aligned_dims(draw, longest=257)
    arrays, heads = _draw_arrays(draw, n, m, d_k, d_v)
    return arrays, {"mask": draw_blind_rows(draw, draw.mask(heads, n, m), n, m)}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    q, k, v, keywords = draw_inputs(draw, "mask", "is_causal", "scale", "sinks", "softcap", *WINDOWS)
    return (q, k, v), keywords


declaration = Declaration(
    equation=grouped_query_attention,
    arguments=arguments,
    core={"q": 3, "k": 3, "v": 3, "mask": 3},
    composed=True,
    open_questions={"causal_alignment": draw_unequal_causality, "fully_masked_rows": draw_fully_masked_rows},
    broadcasts=True,
    linear=("v",),
)
