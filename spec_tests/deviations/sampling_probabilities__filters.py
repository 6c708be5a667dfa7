"""What goes wrong with sampling_probabilities where a filter is turned around, or sees other probabilities than it should."""

from typing import Any

import numpy as np

from reference_numpy._acceptance import number
from reference_numpy._marks import double
from reference_numpy._targets import is_zero
from reference_numpy.sampling_probabilities import sampling_probabilities

from . import deviation
from ._filtered import kept_by, over


@deviation("reference", "top_k_keeps_the_largest")
def top_k_inverted(logits: Any, *, top_k: Any = None, **options: Any) -> Any:
    """top_k leaves out the largest tokens, those that it should keep.

    Shows: a top_k below the vocabulary. Hides: no top_k.
    """
    if top_k is None or top_k >= logits.shape[-1]:
        return sampling_probabilities(logits, top_k=top_k, **options)
    ranks = np.argsort(np.argsort(-number(logits), axis=-1, kind="stable"), axis=-1)
    return sampling_probabilities(np.where(ranks < top_k, -np.inf, logits), **options)


@deviation("reference")
def min_p_of_the_unfiltered(logits: Any, *, min_p: Any = None, **options: Any) -> Any:
    """min_p takes its share of the largest probability before top_k and top_p, and compares it with those after them.

    Shows: a min_p beside top_k or top_p. Hides: min_p alone.
    """
    if min_p is None or is_zero(min_p):
        return sampling_probabilities(logits, min_p=min_p, **options)
    t, kept = options.get("temperature", 1.0), kept_by(logits, **options)
    z = number(logits) / (double(t) or 1.0)
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    of_all, of_kept = (e / np.sum(np.where(among, e, 0.0), axis=-1, keepdims=True) for among in (True, kept))
    inside = of_kept >= double(min_p) * np.max(of_all, axis=-1, keepdims=True)
    return over(logits, t, kept & (inside | (e == 1.0)))
