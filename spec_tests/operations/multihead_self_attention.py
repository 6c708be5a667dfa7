"""How multihead_self_attention is drawn."""

from typing import Any

import numpy as np

from reference_numpy.multihead_self_attention import multihead_self_attention
from spec_tests.inputs.draw import THETA, Draw
from spec_tests.operations._serving import SCALES, SOFTCAPS, draw_sinks, draw_window
from spec_tests.operations.grouped_query_attention import draw_heads
from spec_tests.operations.rope import ATTENTION_FACTORS, LAYOUTS, draw_frequencies
from spec_tests.operations.scaled_dot_product_attention import draw_batch, draw_broadcast_batch
from spec_tests.specification.declaration import Declaration

EVEN_WIDTHS = (2, 4, 6, 8)

OPTIONAL_ARRAYS = ("b_q", "b_k", "b_v", "b_o", "q_norm", "k_norm")

MOST_HEADS = 12  # each has rows in four matrices

NORMS = ("q_norm", "k_norm")

SERVED = ("sinks", "scale", "softcap", "left_window")

SCALED = ("inverse_frequencies", "attention_factor")


def longest_sequence(h: int) -> int:
    """Return the longest sequence to draw: with few heads, longer than two tiles of 64."""
    return 130 if h <= 2 else 65


def draw_heads_and_keywords(draw: Draw, pool: tuple[int, ...] = (1, 2, 3, 4, 4, 6)) -> tuple[int, int, dict[str, Any]]:
    """Draw h and h_kv, and return them with the keywords for them. h_kv = h where the function takes no num_kv_heads."""
    if not draw.operation.accepts("num_kv_heads"):
        h = draw.size("h", pool)
        return h, h, {"num_heads": h}
    h, h_kv = draw_heads(draw, MOST_HEADS, pool)
    ways = tuple(w for w in (True, False) if allows_kv_heads(draw, None if w else h)) if h_kv == h else ()
    return h, h_kv, {"num_heads": h, "num_kv_heads": None if ways and draw.one_of(ways) else h_kv}


def allows_kv_heads(draw: Draw, number: int | None) -> bool:
    """Whether num_kv_heads may be this number, or None, which says that it is num_heads."""
    stated = draw.operation.domain.get("h_kv")
    return stated is None or isinstance(stated, str) or number in stated


def draw_rotation(draw: Draw, batch: tuple[int, ...], n: int) -> dict[str, Any]:
    """Draw theta, a layout, and perhaps positions."""
    keywords = {**draw.keyword("theta", THETA), **draw.keyword("layout", LAYOUTS)}
    if draw.operation.accepts("positions") and draw.one_of((True, True, True, False)):
        positions = draw.positions(draw_broadcast_batch(draw, batch), n)
        keywords["positions"] = positions
    return keywords


def draw_scaled_rotation(draw: Draw, used: set[str], d_k: int, *, has_theta: bool) -> dict[str, Any]:
    """Draw frequencies in place of theta, and a factor, if they are among the arguments used.

    A theta that is given counts in half the examples: frequencies beside it hide it.
    """
    factor = draw.keyword("attention_factor", ATTENTION_FACTORS) if "attention_factor" in used else {}
    replaced = "inverse_frequencies" in used and d_k % 2 == 0 and (not has_theta or draw.one_of((True, False)))
    return factor | (draw_frequencies(draw, d_k) if replaced else {})


def draw_projections(draw: Draw, d: int, h: int, h_kv: int, d_k: int, d_v: int) -> tuple[np.ndarray, ...]:
    """Draw w_q, w_k, w_v and w_o."""
    rows = (h * d_k, h_kv * d_k, h_kv * d_v)
    return (*(draw.weight(r, d) for r in rows), draw.weight(d, h * d_v))


def draw_optional_arrays(draw: Draw, names: set[str], projections: tuple[Any, ...], d_k: int) -> dict[str, Any]:
    """Draw the biases and gains of these names, for the projections w_q, w_k, w_v and w_o."""
    lengths = dict(zip(("b_q", "b_k", "b_v", "b_o"), map(len, projections), strict=True)) | {"q_norm": d_k, "k_norm": d_k}
    return {name: draw.gain(n) for name, n in lengths.items() if name in names}


def draw_served(draw: Draw, used: set[str], h: int, n: int) -> dict[str, Any]:
    """Draw a scale, a cap, a window and sinks, if they are among the arguments used."""
    keywords: dict[str, Any] = draw.keyword("scale", (*SCALES, None)) if "scale" in used else {}
    keywords |= draw.keyword("softcap", SOFTCAPS) if "softcap" in used else {}
    keywords |= draw_window(draw, "left_window", n) if "left_window" in used else {}
    return keywords | ({"sinks": draw_sinks(draw, h)} if "sinks" in used else {})


def draw_inputs(draw: Draw, *optional: str, even: bool = False) -> tuple[Any, ...]:
    """Draw x, the four weights and keywords, some of the optional ones among them."""
    arrays = draw.variants(*(name for name in optional if name in OPTIONAL_ARRAYS))
    used = draw.variants(*(name for name in optional if name not in OPTIONAL_ARRAYS))
    h, h_kv, keywords = draw_heads_and_keywords(draw)
    d_k = draw.size("d_k", EVEN_WIDTHS if "theta" in used or even else (1, *EVEN_WIDTHS, 3, 5))
    (n, d), d_v = draw.dims(n=longest_sequence(h), d=65), draw.size("d_v", (d_k, 1, 2, 3, 4, 7))
    if draw.shape.one_of((False, False, True)):  # as in most models: w_o is square
        d = draw.size("d", (h * d_v,))
    b = draw_batch(draw, max(h * n * n, n * d))
    if "is_causal" in used:
        keywords["is_causal"] = False
    if "theta" in used:
        keywords |= draw_rotation(draw, b, n)
    x, weights = draw.vectors((*b, n, d)), draw_projections(draw, d, h, h_kv, d_k, d_v)
    if arrays:
        keywords |= draw_optional_arrays(draw, arrays, weights, d_k)
    if arrays.intersection(NORMS) or "eps" in draw.operation.domain:
        keywords |= draw.keyword("eps", draw.eps_values())
    return x, weights, keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x, weights, keywords = draw_inputs(draw, "theta", "is_causal", *OPTIONAL_ARRAYS)
    used = draw.variants(*SCALED, *SERVED, seldom=True)
    keywords |= draw_scaled_rotation(draw, used, len(weights[0]) // keywords["num_heads"], has_theta="theta" in keywords)
    keywords |= draw_served(draw, used, keywords["num_heads"], x.shape[-2])
    return (x, *weights), keywords


declaration = Declaration(
    equation=multihead_self_attention,
    arguments=arguments,
    core={"x": 2, "positions": 1},
    composed=True,
    cost=0.75,  # it has many variants, some of which occur in one example of ten
    wide_arguments=("inverse_frequencies",),
    constant_arguments=("inverse_frequencies",),
    choices={"layout": LAYOUTS},
    short=True,
    linear=("w_o", "b_o", "w_v", "b_v"),
)
