"""The weights of the experts that a router chose, and their gradient."""

from typing import Any

import numpy as np

from ._choice import taken
from ._marks import scaled, through_quotient


def weigh(scores: Any, indices: Any, *, renormalize: bool, scaling_factor: float) -> Any:
    """Return the weights of the chosen experts, from the scores of all."""
    weights = taken(scores, indices)
    if renormalize:
        weights = weights / np.sum(weights, axis=-1, keepdims=True)
    return scaled(weights, scaling_factor)


def weigh_vjp(c: Any, scores: Any, indices: Any, *, renormalize: bool, scaling_factor: float) -> Any:
    """Return the gradient of all scores, from the cotangent of the chosen experts' weights."""
    c = scaled(c, scaling_factor)
    if renormalize:
        chosen = weigh(scores, indices, renormalize=False, scaling_factor=1.0)
        total = np.sum(chosen, axis=-1, keepdims=True)
        mean = np.sum(through_quotient(c) * chosen, axis=-1, keepdims=True) / total
        c = (c - mean) / total
    return scattered(c, indices, scores.shape[-1])


def scattered(x: Any, indices: Any, n: int) -> Any:
    """Return rows of n entries, with those of x at the indices and 0 elsewhere."""
    dense: Any = 0.0
    for j in range(indices.shape[-1]):
        dense = np.where(indices[..., j : j + 1] == np.arange(n), x[..., j : j + 1], dense)
    return dense
