"""How transformer_block is drawn."""

from typing import Any

import numpy as np

from reference_numpy.transformer_block import transformer_block
from spec_tests.inputs.draw import Draw
from spec_tests.operations._serving import draw_sinks
from spec_tests.operations.mixture_of_experts import GATE, draw_biases, draw_k, draw_own_gate, draw_stack
from spec_tests.operations.multihead_self_attention import (
    EVEN_WIDTHS,
    OPTIONAL_ARRAYS,
    SCALED,
    SERVED,
    draw_heads_and_keywords,
    draw_optional_arrays,
    draw_projections,
    draw_rotation,
    draw_scaled_rotation,
    draw_served,
    longest_sequence,
)
from spec_tests.operations.rope import LAYOUTS
from spec_tests.operations.scaled_dot_product_attention import draw_batch
from spec_tests.specification.declaration import Declaration

FFN_BIASES, POST_NORMS, ROUTER = ("b1", "b2", "b3"), ("attn_post_norm", "ffn_post_norm"), ("router", "b_router")
OPTIONAL_WEIGHTS = (*OPTIONAL_ARRAYS, *FFN_BIASES, "sinks", *POST_NORMS, *ROUTER)
KEYWORDS = (*(name for name in SERVED if name != "sinks"), *GATE)
EXPERTS = (2, 3, 4)


def draw_block_weights(draw: Draw, d: int, h: int, h_kv: int, d_k: int, d_v: int, f: int) -> dict[str, np.ndarray]:
    """Draw all weights of a block, with two different gains."""
    w_q, w_k, w_v, w_o = draw_projections(draw, d, h, h_kv, d_k, d_v)
    return {
        "attn_norm": draw.gain(d), "w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o,
        "ffn_norm": draw.gain(d), "w1": draw.weight(f, d), "w2": draw.weight(d, f), "w3": draw.weight(f, d),
    }  # fmt: skip


def draw_optional_weights(
    draw: Draw, weights: dict[str, np.ndarray], h: int, *, names: set[str] | None = None
) -> dict[str, np.ndarray]:
    """Draw optional weights, those named or some that the backend's domain lists: none, one, two or all.

    With a router, the network's matrices and biases are those of several experts.
    """
    names = choose_weights(draw) if names is None else names
    projections = tuple(weights[name] for name in ("w_q", "w_k", "w_v", "w_o"))
    f, d = weights["w1"].shape
    found = draw_optional_arrays(draw, names, projections, len(projections[0]) // h)
    found |= {name: draw.gain(d) for name in POST_NORMS if name in names}
    found |= {"sinks": draw_sinks(draw, h)} if "sinks" in names else {}
    if "router" not in names:
        return found | {name: draw.gain(n) for name, n in {"b1": f, "b2": d, "b3": f}.items() if name in names}
    return found | draw_experts(draw, names, f, d)


def choose_weights(draw: Draw) -> set[str]:
    """Draw the names of some of the optional weights that the backend's domain lists: none, one, two or all."""
    listed = [name for name in OPTIONAL_WEIGHTS if name in draw.operation.domain.get("weights", ())]
    count = draw.one_of(draw.planned("weights", (0, 0, 1, 1, 2, len(listed)), str)) if listed else 0
    names = draw.settle({str(name) for name in draw.rng.permutation(listed)[:count]}, {f"weights[{n!r}]": n for n in listed})
    return names - {"router"} if "router" in names and not takes_experts(draw) else names


def takes_experts(draw: Draw) -> bool:
    """Whether the function can be told how many experts a token has."""
    return draw.operation.accepts("k") or len(draw.operation.domain.get("k", ())) == 1


def draw_experts(draw: Draw, names: set[str], f: int, d: int) -> dict[str, np.ndarray]:
    """Draw a router, the matrices of its experts, and the biases of these names."""
    experts = draw.drawn_sizes.get("experts") or draw.size("experts", EXPERTS)  # as many in each layer
    found = {"router": draw.weight(experts, d), "w1": draw_stack(draw, experts, f, d)}
    found |= {"w2": draw_stack(draw, experts, d, f), "w3": draw_stack(draw, experts, f, d)}
    return found | draw_biases(draw, names, experts, f, d)


def draw_k_of(draw: Draw, *layers: dict[str, np.ndarray]) -> dict[str, Any]:
    """Draw how many experts a token has, if a layer has experts."""
    counts = [len(layer["router"]) for layer in layers if "router" in layer]
    return draw_k(draw, counts[0]) if counts else {}


def draw_inputs(draw: Draw, *used_options: str, rotated: bool = False, optional: bool = False) -> tuple[Any, ...]:
    """Draw x, the weights and keywords, some of these options among them.

    rotated: theta in any case. optional: some of the optional weights, too.
    """
    used = draw.variants(*used_options) | ({"theta"} if rotated else set())
    h, h_kv, keywords = draw_heads_and_keywords(draw, (1, 2, 3, 4, 4))
    d_k = draw.size("d_k", EVEN_WIDTHS[:3] if "theta" in used else (1, 2, 3, 4, 5))
    n, d, f = draw.dims(n=longest_sequence(h), d=65, f=65)
    weights = draw_block_weights(draw, d, h, h_kv, d_k, draw.size("d_v", (d_k, 1, 2, 3, 5)), f)
    weights |= draw_optional_weights(draw, weights, h) if optional else {}
    b = draw_batch(draw, 2 * max(h * n * n, n * d, n * f))
    keywords |= draw.keyword("eps", draw.eps_values())
    if "norm" in used:
        keywords["norm"] = "post"
    if "theta" in used:
        keywords |= draw_rotation(draw, b, n)
    return draw.vectors((*b, n, d)), weights, keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x, weights, keywords = draw_inputs(draw, "theta", "norm", optional=True)
    used = draw.variants(*SCALED, *KEYWORDS, seldom=True)
    d_k = len(weights["w_q"]) // keywords["num_heads"]
    keywords |= draw_scaled_rotation(draw, used, d_k, has_theta="theta" in keywords)
    keywords |= draw_served(draw, used, keywords["num_heads"], x.shape[-2]) | draw_own_gate(draw, used)
    keywords |= draw_k_of(draw, weights)
    return (x, weights), keywords


declaration = Declaration(
    equation=transformer_block,
    arguments=arguments,
    core={"x": 2, "positions": 1},
    composed=True,
    chooses="router",
    wide_arguments=("inverse_frequencies",),
    constant_arguments=("inverse_frequencies",),
    choices={"layout": LAYOUTS, "norm": ("pre", "post")},
    optional_weights=OPTIONAL_WEIGHTS,
    short=True,
)
