"""How transformer_block is drawn."""

from typing import Any

import numpy as np

from spec_tests.inputs.draw import Draw
from spec_tests.operations.multihead_self_attention import (
    EVEN_WIDTHS,
    draw_heads_and_keywords,
    draw_projections,
    draw_rotation,
    longest_sequence,
)
from spec_tests.operations.rope import LAYOUTS
from spec_tests.operations.scaled_dot_product_attention import draw_batch

short = True
composed = True
core = {"x": 2, "positions": 1}
choices = {"layout": LAYOUTS, "norm": ("pre", "post")}


def draw_block_weights(draw: Draw, d: int, h: int, h_kv: int, d_k: int, d_v: int, f: int) -> dict[str, np.ndarray]:
    """Draw all weights of a block, with two different gains."""
    w_q, w_k, w_v, w_o = draw_projections(draw, d, h, h_kv, d_k, d_v)
    return {
        "attn_norm": draw.gain(d), "w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o,
        "ffn_norm": draw.gain(d), "w1": draw.weight(f, d), "w2": draw.weight(d, f), "w3": draw.weight(f, d),
    }  # fmt: skip


def draw_inputs(draw: Draw, *optional: str, rotated: bool = False) -> tuple[Any, ...]:
    """Draw x, the weights and keywords, some of the optional ones among them. rotated: theta in any case."""
    used = draw.variants(*optional) | ({"theta"} if rotated else set())
    h, h_kv, keywords = draw_heads_and_keywords(draw, (1, 2, 3, 4, 4))
    d_k = draw.size("d_k", EVEN_WIDTHS[:3] if "theta" in used else (1, 2, 3, 4, 5))
    n, d, f = draw.dims(n=longest_sequence(h), d=65, f=65)
    weights = draw_block_weights(draw, d, h, h_kv, d_k, draw.size("d_v", (d_k, 1, 2, 3, 5)), f)
    b = draw_batch(draw, 2 * max(h * n * n, n * d, n * f))
    keywords |= draw.keyword("eps", draw.eps_values())
    if "norm" in used:
        keywords["norm"] = "post"
    if "theta" in used:
        keywords |= draw_rotation(draw, b, n)
    return draw.vectors((*b, n, d)), weights, keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x, weights, keywords = draw_inputs(draw, "theta", "norm")
    return (x, weights), keywords
