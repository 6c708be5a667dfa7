from typing import Any

import numpy as np

from ._marks import rounded
from .embedding import embedding
from .linear import linear
from .rms_norm import rms_norm
from .transformer_block import _scaling, transformer_block


def transformer_lm(
    token_ids: Any,
    weights: Any,
    inverse_frequencies: Any = None,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    theta: float | None,
    layout: str = "interleaved",
    eps: float,
    attention_factor: float = 1.0,
    logit_softcap: float | None = None,
) -> Any:
    """Language model: embedding, pre-norm blocks, a last norm, and the scores of every next token.

        x = token_embedding[token_ids],   x = block_l(x) for each layer l,   y = lm_head rms_norm(x)

    With logit_softcap = c the scores are c tanh(y / c).

    Shapes
        token_ids (..., n) integers;  weights: token_embedding (vocab, d), layers (num_layers) a list of the
        dicts of transformer_block, final_norm (d), lm_head (vocab, d);  inverse_frequencies (d_k/2)  ->  (..., n, vocab)
    Units
        Nats, up to a constant in each row: logits, not probabilities.
    Domain
        All finite; 0 <= token_ids < vocab; eps > 0; logit_softcap > 0.
    Edges
        The scores at a token do not depend on later tokens. No layers: norm and head of the embedding alone.

    Raises
        As transformer_block does; IndexError where an id is vocab or more.
    Choices
        Positions are 0, ..., n - 1. theta = None leaves RoPE out, unless inverse_frequencies are given: those of
        rope_frequencies, as Llama 3 and gpt-oss have them. Each layer may have the optional weights of
        transformer_block: norms of queries and keys as in Qwen 3, biases as in Qwen 2. Gemma 2 caps its scores. The
        head has its own matrix (tied weights: pass the embedding twice). Softmax is left to the loss. Embeddings are
        not scaled by sqrt(d).
    Source
        CS336 assignment 1, section 3.5 with its figures 1 and 2: the pre-norm model that they draw.

    Without layers, a model that scores the present token highest:

    >>> eye = [[1.0, 0.0], [0.0, 1.0]]
    >>> weights = {"token_embedding": eye, "layers": [], "final_norm": [1.0, 1.0], "lm_head": eye}
    >>> transformer_lm([1, 0], weights, num_heads=1, theta=10000.0, eps=1e-9).round(4)
    array([[0.    , 1.4142],
           [1.4142, 0.    ]])

    """
    options: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "theta": theta, "layout": layout}
    options |= {"eps": eps, **_scaling(inverse_frequencies, attention_factor)}
    x = embedding(token_ids, weights["token_embedding"])
    for layer in weights["layers"]:
        x = rounded(transformer_block(x, layer, **options))
    y = linear(rounded(rms_norm(x, weights["final_norm"], eps=eps)), weights["lm_head"])
    return y if logit_softcap is None else np.tanh(rounded(y) / logit_softcap) * logit_softcap
