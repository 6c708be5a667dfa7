"""How transformer_lm is drawn."""

from typing import Any

import numpy as np

from reference_numpy.transformer_lm import transformer_lm
from spec_tests.inputs.draw import THETA, Draw, single
from spec_tests.operations._serving import SOFTCAPS
from spec_tests.operations.mixture_of_experts import draw_own_gate
from spec_tests.operations.multihead_self_attention import (
    EVEN_WIDTHS,
    SCALED,
    draw_heads_and_keywords,
    draw_scaled_rotation,
    draw_served,
)
from spec_tests.operations.rope import LAYOUTS
from spec_tests.operations.scaled_dot_product_attention import draw_batch
from spec_tests.operations.transformer_block import (
    KEYWORDS,
    OPTIONAL_WEIGHTS,
    draw_block_weights,
    draw_k_of,
    draw_optional_weights,
)
from spec_tests.specification.declaration import Declaration

LOCAL = ("left_window", "global_every", "local_theta")

SCALES_OF_EMBEDDINGS = single(2.0, 4.0, 5.656854, 0.5, 11.3137085)

LAYER_COUNTS = (0, 1, 2, 1, 2, 3)


def draw_inputs(draw: Draw, *, layers: tuple[int, ...] = LAYER_COUNTS) -> tuple[np.ndarray, dict[str, Any], dict[str, Any]]:
    """Draw token ids, the weights and the keywords of a small model."""
    h, h_kv, keywords = draw_heads_and_keywords(draw, (1, 2, 3, 4))
    d_k, d_v = draw.size("d_k", EVEN_WIDTHS[:2]), draw.size("d_v", (2, 1, 3, 4))
    n, d, f, vocab = draw.dims(n=65, d=33, f=33, vocab=129)
    weights = {
        "token_embedding": draw.normal((vocab, d)),
        "layers": [draw_block_weights(draw, d, h, h_kv, d_k, d_v, f) for _ in range(draw.size("num_layers", layers))],
        "final_norm": draw.gain(d),
        "lm_head": draw.weight(vocab, d),
    }
    keywords |= draw.keyword("eps", draw.eps_values()) | draw.keyword("theta", (*THETA, None)) | draw.keyword("layout", LAYOUTS)
    b = draw_batch(draw, 4 * max(h * n * n, n * d, n * f, n * vocab))
    return draw.rng.integers(0, vocab, (*b, n)), weights, keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    token_ids, weights, keywords = draw_inputs(draw)
    h = keywords["num_heads"]
    weights["layers"] = [layer | draw_optional_weights(draw, layer, h) for layer in weights["layers"]]
    names = (*KEYWORDS, *LOCAL[1:], "embedding_scale", "logit_softcap")
    used = draw.variants(*SCALED, *names, seldom=True)
    d_k = len(weights["layers"][0]["w_q"]) // h if weights["layers"] else 2
    keywords |= draw_scaled_rotation(draw, used, d_k, has_theta="theta" in keywords)
    keywords |= draw_served(draw, used, h, token_ids.shape[-1]) | draw_own_gate(draw, used)
    keywords |= draw_local_layers(draw, used) | draw_k_of(draw, *weights["layers"])
    for name, values in (("embedding_scale", SCALES_OF_EMBEDDINGS), ("logit_softcap", SOFTCAPS)):
        keywords |= draw.keyword(name, values) if name in used else {}
    return (token_ids, weights), keywords


def draw_local_layers(draw: Draw, used: set[str]) -> dict[str, Any]:
    """Draw which layers are global, and the theta of the others, if they are among the arguments used."""
    keywords = draw.keyword("global_every", (2, 1, 3)) if "global_every" in used else {}
    return keywords | (draw.keyword("local_theta", THETA) if "local_theta" in used else {})


declaration = Declaration(
    equation=transformer_lm,
    arguments=arguments,
    core={"token_ids": 1},
    composed=True,
    chooses="router",
    passes_choices_on=True,  # later tokens see what an expert has made of earlier ones
    wide_arguments=("inverse_frequencies",),
    constant_arguments=("inverse_frequencies",),
    choices={"layout": LAYOUTS},
    optional_weights=OPTIONAL_WEIGHTS,  # of each layer
    short=True,
)
