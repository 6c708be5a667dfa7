"""How grouped_query_attention is tried."""

from typing import Any

from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.operations.scaled_dot_product_attention import AFFORDABLE, SCALES, batch, dims, holding_a_key

composed = True
core = {"q": 3, "k": 3, "v": 3, "mask": 3}

HEADS = (1, 2, 3, 4, 4, 6, 8)


def heads(draw: Draw, pool: tuple[int, ...] = HEADS) -> tuple[int, int]:
    """Query heads, and the key/value heads that they share evenly."""
    stated = draw.operation.domain.get("h_kv")
    if stated is not None and not isinstance(stated, str):
        pool = tuple(h for h in pool if any(h % i == 0 for i in stated)) or tuple(i * group for i in stated for group in (1, 2))
    h = draw.size("h", pool)
    between = tuple(i for i in range(h - 1, 1, -1) if h % i == 0)  # where the order of the groups shows
    h_kv = draw.size("h_kv", (h, *between * 3, 1))
    if h % h_kv:
        raise NotImplementedVariant(f"its domain has no heads that {h_kv} heads of keys and values serve evenly")
    return h, h_kv


def drawn(draw: Draw, *optional: str) -> tuple[Any, ...]:
    """q, k, v and keywords, some of the optional ones among them; each query has a key."""
    used = draw.variants(*optional)
    n, m, d_k, d_v = dims(draw, square="is_causal" in used, longest=257)
    h, h_kv = heads(draw, tuple(h for h in HEADS if h * n * m <= AFFORDABLE // 2) or (1, 2))
    b = batch(draw, h * n * m)
    keywords: dict[str, Any] = {}
    if causal := "is_causal" in used and n == m:
        keywords["is_causal"] = True
    if "scale" in used:
        keywords |= draw.keyword("scale", (*SCALES, None))
    if "mask" in used:
        mask = draw.mask(draw.shape.one_of(((*b, h), (*b, 1), (h,))), n, m)
        keywords["mask"] = holding_a_key(draw, mask) if causal else mask
    q, k = draw.vectors((*b, h, n, d_k)), draw.vectors((*b, h_kv, m, d_k))
    return q, k, draw.vectors((*b, h_kv, m, d_v)), keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    q, k, v, keywords = drawn(draw, "mask", "is_causal", "scale")
    return (q, k, v), keywords
