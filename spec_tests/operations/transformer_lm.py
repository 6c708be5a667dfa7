"""How transformer_lm is drawn."""

from typing import Any

import numpy as np

from spec_tests.inputs.draw import THETA, Draw
from spec_tests.operations._serving import SOFTCAPS
from spec_tests.operations.multihead_self_attention import EVEN_WIDTHS, SCALED, draw_heads_and_keywords, draw_scaled_rotation
from spec_tests.operations.rope import LAYOUTS
from spec_tests.operations.scaled_dot_product_attention import draw_batch
from spec_tests.operations.transformer_block import (
    OPTIONAL_WEIGHTS,
    draw_block_weights,
    draw_optional_weights,
)

short = True
composed = True
core = {"token_ids": 1}
choices = {"layout": LAYOUTS}
wide_arguments = constant_arguments = ("inverse_frequencies",)

optional_weights = OPTIONAL_WEIGHTS  # of each layer

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
    used = draw.variants(*SCALED, seldom=True) | draw.variants("logit_softcap")
    keywords |= draw_scaled_rotation(draw, used, len(weights["layers"][0]["w_q"]) // h if weights["layers"] else 2)
    if "logit_softcap" in used:
        keywords |= draw.keyword("logit_softcap", SOFTCAPS)
    return (token_ids, weights), keywords
