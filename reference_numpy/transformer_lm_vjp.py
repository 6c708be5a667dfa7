from typing import Any

import numpy as np

from ._gated_network import gating
from ._marks import float64, rounded, scaled
from .embedding_vjp import embedding_vjp
from .linear import linear
from .linear_vjp import linear_vjp
from .rms_norm import rms_norm
from .rms_norm_vjp import rms_norm_vjp
from .transformer_block import _scaling, transformer_block
from .transformer_block_vjp import transformer_block_vjp
from .transformer_lm import _by_layer, _embed


def transformer_lm_vjp(
    cotangent: Any,
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
    """Gradients of the language model: back through the head, the last norm, the blocks in reverse, and the embedding.

    Shapes
        cotangent (..., n, vocab),  token_ids (..., n) integers,  weights: a dict,
        inverse_frequencies (d_k/2)  ->  (None, dweights, None): dweights is a dict of the structure of weights
    Dtypes
        as the arguments
    Domain
        As in transformer_lm; cotangents finite.
    Edges
        The rows of token_embedding whose tokens do not occur, or only after the last token with a cotangent, get
        exactly 0.

    Raises
        As transformer_lm does.
    Choices
        token_embedding and lm_head have a gradient each; with tied weights add the two.
    Source
        CS336 assignment 1, section 3.5 with its figures 1 and 2, differentiated.

    Without layers, token 1 predicted for itself; what its embedding gets is orthogonal to it:

    >>> eye = [[1.0, 0.0], [0.0, 1.0]]
    >>> weights = {"token_embedding": eye, "layers": [], "final_norm": [1.0, 1.0], "lm_head": eye}
    >>> transformer_lm_vjp([[1.0, 1.0]], [1], weights, num_heads=1, theta=None, eps=0.0)[1]["token_embedding"].round(4)
    array([[0.    , 0.    ],
           [1.4142, 0.    ]])
    """
    options: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "layout": layout, "eps": eps, "k": k}
    options |= {"scale": scale, "softcap": softcap, **gating(activation, limit, alpha, offset)}
    turn = {"theta": theta, **_scaling(inverse_frequencies, attention_factor)}
    by_layer = _by_layer(weights, turn, left_window, global_every, local_theta)
    inputs = [_embed(token_ids, weights, embedding_scale)]
    for layer, own in zip(weights["layers"], by_layer, strict=True):
        inputs.append(rounded(transformer_block(inputs[-1], layer, **options, **own)))
    last, final_norm = inputs.pop(), weights["final_norm"]
    normed = rounded(rms_norm(last, final_norm, eps=eps))
    if logit_softcap is not None:
        t = np.tanh(rounded(linear(normed, weights["lm_head"])) / logit_softcap)
        cotangent = rounded(float64(cotangent) * (1 - np.square(t)))
    dlast, dhead, _ = linear_vjp(cotangent, normed, weights["lm_head"])
    dx, dfinal = rms_norm_vjp(rounded(dlast), last, final_norm, eps=eps)
    dlayers: list[Any] = []
    for x, layer, own in zip(reversed(inputs), reversed(weights["layers"]), reversed(by_layer), strict=True):
        dx, dlayer, *_ = transformer_block_vjp(rounded(dx), x, layer, **options, **own)
        dlayers.insert(0, dlayer)
    _, dembedding = embedding_vjp(rounded(scaled(rounded(dx), embedding_scale)), token_ids, weights["token_embedding"])
    return None, {"token_embedding": dembedding, "layers": dlayers, "final_norm": dfinal, "lm_head": dhead}, None
