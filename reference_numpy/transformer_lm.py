from typing import Any

import numpy as np

from ._gated_network import gating
from ._marks import is_one, rounded
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
    embedding_scale: float = 1.0,
    scale: float | None = None,
    softcap: float | None = None,
    left_window: int | None = None,
    global_every: int | None = None,
    local_theta: float | None = None,
    activation: str = "silu",
    limit: float | None = None,
    alpha: float = 1.0,
    offset: float = 0.0,
    k: int | None = None,
) -> Any:
    """Language model: embedding, pre-norm blocks, a last norm, and the scores of every next token.

        x = embedding_scale token_embedding[token_ids],   x = block_l(x) for each layer l,   y = lm_head rms_norm(x)

    With logit_softcap = c the scores are c tanh(y / c). Layer l = 1, 2, ... is global where global_every divides l, else local;
    without global_every every layer is local. left_window and local_theta are of local layers alone.

    Shapes
        token_ids (..., n) integers;  weights: token_embedding (vocab, d), layers (num_layers) a list of the
        dicts of transformer_block, final_norm (d), lm_head (vocab, d);  inverse_frequencies (d_k/2)  ->  (..., n, vocab)
    Dtypes
        as the arguments
    Units
        Nats, up to a constant in each row: logits, not probabilities.
    Domain
        As in transformer_block; 0 <= token_ids < vocab; logit_softcap > 0; global_every >= 1.
    Edges
        The scores at a token do not depend on later tokens. No layers: norm and head of the embedding alone.

    Raises
        As transformer_block does; IndexError where an id is vocab or more.
    Choices
        Positions are 0, ..., n - 1. theta = None leaves RoPE out, unless inverse_frequencies are given: those of
        rope_frequencies, as Llama 3 and gpt-oss have them. Each layer may have the optional weights of
        transformer_block: norms of queries and keys as in Qwen 3, biases as in Qwen 2, experts as in Mixtral. Gemma 2 caps
        its scores. The head has its own matrix (tied weights: pass the embedding twice). Softmax is left to the loss.
        Embeddings are not scaled, but Gemma has embedding_scale = sqrt(d). Gemma 3 has global_every = 6, and another theta in
        local layers; gpt-oss has global_every = 2. A window of w keys, as in their configurations, is left_window = w - 1.
        With local_theta local layers turn by it alone, without inverse_frequencies and attention_factor.
    Source
        CS336 assignment 1, section 3.5 with its figures 1 and 2: the pre-norm model that they draw. Gemma Team 2025,
        arXiv:2503.19786, section 2, for local and global layers.

    Without layers, a model that scores the present token highest:

    >>> eye = [[1.0, 0.0], [0.0, 1.0]]
    >>> weights = {"token_embedding": eye, "layers": [], "final_norm": [1.0, 1.0], "lm_head": eye}
    >>> transformer_lm([1, 0], weights, num_heads=1, theta=10000.0, eps=1e-9).round(4)
    array([[0.    , 1.4142],
           [1.4142, 0.    ]])

    """
    options: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "layout": layout, "eps": eps, "k": k}
    options |= {"scale": scale, "softcap": softcap, **gating(activation, limit, alpha, offset)}
    turn = {"theta": theta, **_scaling(inverse_frequencies, attention_factor)}
    x = _embed(token_ids, weights, embedding_scale)
    for layer, own in zip(weights["layers"], _by_layer(weights, turn, left_window, global_every, local_theta), strict=True):
        x = rounded(transformer_block(x, layer, **options, **own))
    y = linear(rounded(rms_norm(x, weights["final_norm"], eps=eps)), weights["lm_head"])
    return y if logit_softcap is None else np.tanh(rounded(y) / logit_softcap) * logit_softcap


def _embed(token_ids: Any, weights: Any, embedding_scale: Any) -> Any:
    """Return what the first layer is given."""
    x = embedding(token_ids, weights["token_embedding"])
    return x if is_one(embedding_scale) else rounded(x * embedding_scale)


def _by_layer(
    weights: Any, turn: dict[str, Any], left_window: int | None, global_every: int | None, local_theta: Any
) -> list[dict[str, Any]]:
    """Return the window and the rotation of each layer, for a model whose global layers are rotated as `turn` says."""
    local = {"left_window": left_window} | (turn if local_theta is None else {"theta": local_theta})
    count = len(weights["layers"])
    return [turn if global_every is not None and i % global_every == 0 else local for i in range(1, count + 1)]
