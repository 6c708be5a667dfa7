"""What goes wrong with transformer_lm beside its parts: what stands before, between and behind the layers.

It has three steps. A deviation is a function that replaces one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from reference_numpy._marks import rounded
from reference_numpy.embedding import embedding
from reference_numpy.linear import linear
from reference_numpy.log_softmax import log_softmax
from reference_numpy.rms_norm import rms_norm
from reference_numpy.softmax import softmax
from reference_numpy.transformer_block import transformer_block

from . import deviation

Weights = dict[str, Any]
Keywords = dict[str, Any]


def embed(token_ids: Any, weights: Weights, keywords: Keywords) -> Any:
    return embedding(token_ids, weights["token_embedding"])


def run(x: Any, layers: list[Weights], keywords: Keywords, weights: Weights) -> Any:
    for layer in layers:
        x = rounded(transformer_block(x, layer, **keywords))
    return x


def score(x: Any, weights: Weights, eps: Any) -> Any:
    return linear(normalize(x, weights, eps), weights["lm_head"])


def normalize(x: Any, weights: Weights, eps: Any) -> Any:
    return rounded(rms_norm(x, weights["final_norm"], eps=eps))


def instead_of(step: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a model in which the decorated function replaces the step."""

    def decorate(other: Callable[..., Any]) -> Callable[..., Any]:
        def do(own: Callable[..., Any], *operands: Any) -> Any:
            return (other if own is step else own)(*operands)

        @wraps(other)
        def model(
            token_ids: Any,
            weights: Any,
            *,
            num_heads: int,
            num_kv_heads: int | None = None,
            theta: float | None,
            layout: str = "interleaved",
            eps: float,
        ) -> Any:
            heads: Keywords = {"num_heads": num_heads, "num_kv_heads": num_kv_heads}
            keywords: Keywords = {**heads, "theta": theta, "layout": layout, "eps": eps}
            x = do(embed, token_ids, weights, keywords)
            return do(score, do(run, x, weights["layers"], keywords, weights), weights, eps)

        del model.__wrapped__  # its signature is the operation's
        model.replaced = {step: other}  # type: ignore[attr-defined]
        return model

    return decorate


# --- before the layers ----------------------------------------------------------------------------------------------


@deviation("reference", "decode_with_a_cache", kind="convention")
@instead_of(embed)
def embedding_scaled(token_ids: Any, weights: Weights, keywords: Keywords) -> Any:
    """the embedding is multiplied by sqrt(d), as the first transformer and Gemma do.

    Shows: a layer, or a large eps. Hides: no layers and a small eps, where the last norm undoes it.
    """
    x = embed(token_ids, weights, keywords)
    return rounded(x * np.sqrt(x.shape[-1]))


@deviation("reference", "no_layers")
@instead_of(embed)
def padding_token(token_ids: Any, weights: Weights, keywords: Keywords) -> Any:
    """token 0 is treated as padding: its embedding is zero.

    Shows: token 0. Hides: any other.
    """
    return np.where(np.asarray(token_ids)[..., None] == 0, 0.0, embed(token_ids, weights, keywords))


@deviation("reference")
@instead_of(embed)
def embedding_normalized(token_ids: Any, weights: Weights, keywords: Keywords) -> Any:
    """the embedding is normalized before the first layer, with the gain of the last norm.

    Shows: a layer. Hides: none but no layers with gains of 1.
    """
    return normalize(embed(token_ids, weights, keywords), weights, keywords["eps"])


# --- the layers -----------------------------------------------------------------------------------------------------


@deviation("reference", "composition")
@instead_of(run)
def first_layer_for_all(x: Any, layers: list[Weights], keywords: Keywords, weights: Weights) -> Any:
    """every layer has the weights of the first.

    Shows: two layers or more. Hides: one layer.
    """
    return run(x, layers[:1] * len(layers), keywords, weights)


@deviation("reference", "composition")
@instead_of(run)
def layers_reversed(x: Any, layers: list[Weights], keywords: Keywords, weights: Weights) -> Any:
    """the layers run from the last to the first.

    Shows: two layers or more. Hides: one layer.
    """
    return run(x, layers[::-1], keywords, weights)


@deviation("reference", "composition")
@instead_of(run)
def last_layer_left_out(x: Any, layers: list[Weights], keywords: Keywords, weights: Weights) -> Any:
    """the last layer does not run.

    Shows: a layer. Hides: no layers, a last layer that is silent.
    """
    return run(x, layers[:-1], keywords, weights)


@deviation("reference", "silent_layer")
@instead_of(run)
def norm_after_each_layer(x: Any, layers: list[Weights], keywords: Keywords, weights: Weights) -> Any:
    """the last norm is applied after each layer as well.

    Shows: a layer. Hides: no layers.
    """
    for layer in layers:
        x = normalize(run(x, [layer], keywords, weights), weights, keywords["eps"])
    return x


@deviation("reference")
@instead_of(run)
def rope_in_the_first_layer_only(x: Any, layers: list[Weights], keywords: Keywords, weights: Weights) -> Any:
    """only the first layer has RoPE.

    Shows: two layers or more with theta. Hides: one layer.
    """
    return run(run(x, layers[:1], keywords, weights), layers[1:], {**keywords, "theta": None}, weights)


@deviation("reference")
@instead_of(run)
def rope_without_theta(x: Any, layers: list[Weights], keywords: Keywords, weights: Weights) -> Any:
    """theta = None counts as 10000.

    Shows: theta = None and a layer. Hides: any other.
    """
    theta = 10000.0 if keywords["theta"] is None else keywords["theta"]
    return run(x, layers, {**keywords, "theta": theta}, weights)


@deviation("reference", kind="convention")
@instead_of(run)
def post_norm(x: Any, layers: list[Weights], keywords: Keywords, weights: Weights) -> Any:
    """the layers are post-norm.

    Shows: a layer. Hides: no layers.
    """
    return run(x, layers, {**keywords, "norm": "post"}, weights)


# --- behind the layers ----------------------------------------------------------------------------------------------


@deviation("reference", "no_layers", "zero_head_or_last_norm")
@instead_of(score)
def last_norm_missing(x: Any, weights: Weights, eps: Any) -> Any:
    """the head takes what the last layer gives, without the last norm.

    Shows: any model. Hides: none.
    """
    return linear(x, weights["lm_head"])


@deviation("reference", "no_layers")
@instead_of(score)
def last_eps_fixed(x: Any, weights: Weights, eps: Any) -> Any:
    """the last norm has eps = 1e-5 whatever is given.

    Shows: a large eps. Hides: eps = 1e-5, ordinary rows.
    """
    return score(x, weights, 1e-5)


@deviation("reference", "no_layers", "order_of_the_head", kind="convention")
@instead_of(score)
def head_tied(x: Any, weights: Weights, eps: Any) -> Any:
    """the head is the embedding, and lm_head is not used.

    Shows: two matrices that differ. Hides: tied weights.
    """
    return linear(normalize(x, weights, eps), weights["token_embedding"])


@deviation("reference", "linear_in_the_head", "zero_head_or_last_norm")
@instead_of(score)
def probabilities(x: Any, weights: Weights, eps: Any) -> Any:
    """the scores go through softmax.

    Shows: any model. Hides: none.
    """
    return softmax(rounded(score(x, weights, eps)), axis=-1)


@deviation("reference", "linear_in_the_head", "zero_head_or_last_norm")
@instead_of(score)
def log_probabilities(x: Any, weights: Weights, eps: Any) -> Any:
    """the scores go through log_softmax.

    Shows: any model. Hides: a loss or a choice made of the scores, which is the same.
    """
    return log_softmax(rounded(score(x, weights, eps)), axis=-1)


@deviation("reference", "no_layers", kind="convention")
@instead_of(score)
def scores_capped(x: Any, weights: Weights, eps: Any) -> Any:
    """the scores are capped: 30 tanh(y / 30), as Gemma 2 does.

    Shows: scores that are not small beside 30. Hides: small scores in 16 bits.
    """
    return 30.0 * np.tanh(rounded(score(x, weights, eps)) / 30.0)
