"""How transformer_lm is tried."""

from typing import Any

import numpy as np

from spec_tests.inputs.draw import EPS, THETA, Draw
from spec_tests.operations.multihead_self_attention import EVEN, configuration
from spec_tests.operations.scaled_dot_product_attention import batch
from spec_tests.operations.transformer_block import block_weights

short = True
composed = True
core = {"token_ids": 1}

LAYERS = (0, 1, 2, 1, 2, 3)


def drawn(draw: Draw, *, layers: tuple[int, ...] = LAYERS) -> tuple[np.ndarray, dict[str, Any], dict[str, Any]]:
    """Token ids, the weights and the keywords of a small model."""
    h, h_kv, keywords = configuration(draw, (1, 2, 3, 4))
    d_k, d_v = draw.size("d_k", EVEN[:2]), draw.size("d_v", (2, 1, 3, 4))
    n, d, f, vocab = draw.dims(n=65, d=33, f=33, vocab=129)
    weights = {
        "token_embedding": draw.normal((vocab, d)),
        "layers": [block_weights(draw, d, h, h_kv, d_k, d_v, f) for _ in range(draw.size("num_layers", layers))],
        "final_norm": draw.gain(d),
        "lm_head": draw.weight(vocab, d),
    }
    keywords |= draw.keyword("eps", EPS) | draw.keyword("theta", (*THETA, None)) | draw.keyword("layout", ("interleaved", "half"))
    b = batch(draw, 4 * max(h * n * n, n * d, n * f, n * vocab))
    return draw.rng.integers(0, vocab, (*b, n)), weights, keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    token_ids, weights, keywords = drawn(draw)
    return (token_ids, weights), keywords
