"""What goes wrong with transformer_lm where layers differ, and where its embedding is scaled."""

from typing import Any

import numpy as np

from reference_numpy.transformer_lm import transformer_lm

from . import deviation


@deviation("embedding_scale")
def scale_of_the_embedding_dropped(token_ids: Any, weights: Any, **options: Any) -> Any:
    """embeddings are not scaled, as by code for Llama that loads the weights of Gemma.

    Shows: embedding_scale other than 1, with a layer. Hides: no layers and a small eps, where the last norm undoes it.
    """
    return transformer_lm(token_ids, weights, **{**options, "embedding_scale": 1.0})


@deviation("embedding_scale")
def scale_of_the_head_too(
    token_ids: Any, weights: Any, *, embedding_scale: float = 1.0, logit_softcap: float | None = None, **options: Any
) -> Any:
    """the head is scaled as well, as where tied weights are scaled in place.

    Shows: embedding_scale other than 1. Hides: none.
    """
    weights = weights | {"lm_head": np.multiply(weights["lm_head"], embedding_scale)}
    return transformer_lm(token_ids, weights, embedding_scale=embedding_scale, logit_softcap=logit_softcap, **options)


@deviation("local_window")
def window_in_every_layer(
    token_ids: Any, weights: Any, *, global_every: int | None = None, local_theta: Any = None, **options: Any
) -> Any:
    """global layers have the window, too.

    Shows: left_window with global_every. Hides: no global layer; a window of the whole sequence; a local_theta.
    """
    every = global_every if local_theta is not None else None
    return transformer_lm(token_ids, weights, global_every=every, local_theta=local_theta, **options)


@deviation("local_window")
def window_in_no_layer(token_ids: Any, weights: Any, *, left_window: int | None = None, **options: Any) -> Any:
    """the window is ignored.

    Shows: a left_window shorter than the sequence. Hides: longer ones.
    """
    return transformer_lm(token_ids, weights, left_window=None, **options)


def shift_layers(weights: Any) -> Any:
    """Return the model with a silent layer before the first one, so that the others stand one place later."""
    if not weights["layers"]:
        return weights
    silenced = ("w_o", "b_o", "w2", "b2")
    first = {name: 0.0 * x if name in silenced else x for name, x in weights["layers"][0].items()}
    return weights | {"layers": [first, *weights["layers"]]}


@deviation("local_window", "local_theta")
def layers_counted_from_zero(token_ids: Any, weights: Any, *, global_every: int | None = None, **options: Any) -> Any:
    """layers are counted from 0, so that the first one is global: `i % global_every == 0`.

    Shows: left_window or local_theta with global_every. Hides: every layer local, or every one global.
    """
    if global_every is None or global_every == 1:
        return transformer_lm(token_ids, weights, global_every=global_every, **options)
    for _ in range(global_every - 1):
        weights = shift_layers(weights)
    return transformer_lm(token_ids, weights, global_every=global_every, **options)


@deviation("local_theta")
def theta_of_local_layers_ignored(token_ids: Any, weights: Any, *, local_theta: Any = None, **options: Any) -> Any:
    """local layers turn as global ones do.

    Shows: local_theta. Hides: none; the same theta.
    """
    return transformer_lm(token_ids, weights, local_theta=None, **options)


@deviation("local_theta")
def theta_of_local_layers_everywhere(
    token_ids: Any, weights: Any, inverse_frequencies: Any = None, *, theta: Any, local_theta: Any = None, **options: Any
) -> Any:
    """local_theta replaces theta in global layers, too.

    Shows: local_theta with global_every. Hides: no global layer; the same theta.
    """
    theta = theta if local_theta is None else local_theta
    inverse_frequencies = None if local_theta is not None else inverse_frequencies
    return transformer_lm(token_ids, weights, inverse_frequencies, theta=theta, local_theta=local_theta, **options)
