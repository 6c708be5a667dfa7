"""What goes wrong with transformer_lm where its scores are capped, and where frequencies are given."""

from typing import Any

import numpy as np

from reference_numpy._marks import rounded
from reference_numpy.embedding import embedding
from reference_numpy.linear import linear
from reference_numpy.rms_norm import rms_norm
from reference_numpy.transformer_block import transformer_block
from reference_numpy.transformer_lm import transformer_lm

from . import deviation


@deviation("reference", "logit_softcap", seen=("https://github.com/sgl-project/sgl-kernel-xpu/pull/491",))
def cap_ignored(token_ids: Any, weights: Any, *, logit_softcap: float | None = None, **options: Any) -> Any:
    """the cap is accepted, and the scores are not capped.

    Shows: a small cap. Hides: none; a cap far above the scores.
    """
    return transformer_lm(token_ids, weights, **options)


@deviation("reference", "logit_softcap")
def capped_scores_not_scaled_back(token_ids: Any, weights: Any, *, logit_softcap: float | None = None, **options: Any) -> Any:
    """the scores are tanh(y / c), not multiplied by c again.

    Shows: a cap other than 1. Hides: none; a cap of 1.
    """
    y = transformer_lm(token_ids, weights, **options)
    return y if logit_softcap is None else np.tanh(rounded(y) / logit_softcap)


@deviation("reference", "logit_softcap")
def normed_features_capped(
    token_ids: Any, weights: Any, *, eps: float, logit_softcap: float | None = None, **options: Any
) -> Any:
    """what the head is given is capped, and the scores are not.

    Shows: a small cap. Hides: none; a cap far above the features.
    """
    if logit_softcap is None:
        return transformer_lm(token_ids, weights, eps=eps, **options)
    x = _run(token_ids, weights, {"eps": eps, **options})
    h = rounded(rms_norm(x, weights["final_norm"], eps=eps))
    return linear(rounded(np.tanh(h / logit_softcap) * logit_softcap), weights["lm_head"])


@deviation("reference", "inverse_frequencies", seen=("https://github.com/kekzl/imp/issues/897",))
def inverse_frequencies_ignored(
    token_ids: Any, weights: Any, inverse_frequencies: Any = None, *, theta: float | None, **options: Any
) -> Any:
    """the given frequencies are ignored, and theta's are used, 10000 without one.

    Shows: frequencies other than those of theta. Hides: frequencies that were not scaled.
    """
    theta = 10000.0 if theta is None and inverse_frequencies is not None else theta
    return transformer_lm(token_ids, weights, theta=theta, **options)


@deviation("reference", "inverse_frequencies")
def inverse_frequencies_in_the_first_layer_only(
    token_ids: Any, weights: Any, inverse_frequencies: Any = None, *, eps: float, **options: Any
) -> Any:
    """the first layer alone has the given frequencies, and later ones have those of theta.

    Shows: two layers or more. Hides: one layer, no frequencies given.
    """
    x = embedding(token_ids, weights["token_embedding"])
    cap, options = options.get("logit_softcap"), {name: value for name, value in options.items() if name != "logit_softcap"}
    for i, layer in enumerate(weights["layers"]):
        x = rounded(transformer_block(x, layer, None, None if i else inverse_frequencies, eps=eps, **options))
    y = linear(rounded(rms_norm(x, weights["final_norm"], eps=eps)), weights["lm_head"])
    return y if cap is None else np.tanh(rounded(y) / cap) * cap


def _run(token_ids: Any, weights: Any, options: dict[str, Any]) -> Any:
    """Return what the last norm is given."""
    x = embedding(token_ids, weights["token_embedding"])
    for layer in weights["layers"]:
        x = rounded(transformer_block(x, layer, **options))
    return x
