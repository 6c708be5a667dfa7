"""How multihead_self_attention is tried."""

from typing import Any

import numpy as np

from spec_tests.inputs.draw import THETA, Draw
from spec_tests.operations.grouped_query_attention import heads
from spec_tests.operations.scaled_dot_product_attention import batch, broadcast

short = True
composed = True
cost = 0.75  # of many variants, some show in one example of ten
core = {"x": 2, "positions": 1}

EVEN = (2, 4, 6, 8)


def longest(h: int) -> int:
    """Sequences are longer than two tiles of 64 where there are few heads."""
    return 130 if h <= 2 else 65


def configuration(draw: Draw, pool: tuple[int, ...] = (1, 2, 3, 4, 4, 6)) -> tuple[int, int, dict[str, Any]]:
    """h, h_kv and the keywords that say so; h_kv = h where the function takes no num_kv_heads."""
    h, h_kv = heads(draw, pool) if draw.operation.accepts("num_kv_heads") else (draw.size("h", pool), 0)
    if not h_kv:
        return h, h, {"num_heads": h}
    return h, h_kv, {"num_heads": h, "num_kv_heads": None if h_kv == h and draw.one_of((True, False)) else h_kv}


def rotation(draw: Draw, batch: tuple[int, ...], n: int) -> dict[str, Any]:
    """theta, with or without positions, and a layout."""
    keywords = {**draw.keyword("theta", THETA), **draw.keyword("layout", ("interleaved", "half"))}
    if draw.operation.accepts("positions") and draw.one_of((True, True, True, False)):
        positions = draw.positions(broadcast(draw, batch), n)
        keywords["positions"] = positions
    return keywords


def projections(draw: Draw, d: int, h: int, h_kv: int, d_k: int, d_v: int) -> tuple[np.ndarray, ...]:
    """w_q, w_k, w_v and w_o."""
    rows = (h * d_k, h_kv * d_k, h_kv * d_v)
    return (*(draw.weight(r, d) for r in rows), draw.weight(d, h * d_v))


def drawn(draw: Draw, *optional: str, even: bool = False) -> tuple[Any, ...]:
    """x, the four weights and keywords, some of the optional ones among them."""
    used = draw.variants(*optional)
    h, h_kv, keywords = configuration(draw)
    d_k = draw.size("d_k", EVEN if "theta" in used or even else (1, *EVEN, 3, 5))
    n, d = draw.dims(n=longest(h), d=65)
    b = batch(draw, max(h * n * n, n * d))
    if "is_causal" in used:
        keywords["is_causal"] = False
    if "theta" in used:
        keywords |= rotation(draw, b, n)
    return draw.vectors((*b, n, d)), projections(draw, d, h, h_kv, d_k, draw.size("d_v", (d_k, 1, 2, 3, 4, 7))), keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x, weights, keywords = drawn(draw, "theta", "is_causal")
    return (x, *weights), keywords
