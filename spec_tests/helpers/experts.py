"""What a router chose, as laws compare it: the weight of every expert, chosen or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..calls.result import Result
from .assertions import exactly

LOWEST_LOGIT = -80.0  # the exponential of its opposite is near the largest float32 number


def weights_by_expert(result: Result, experts: int) -> Bounded:
    """Return the weight of each expert, 0 for those that were not chosen. Nothing is claimed of rows whose choice is open."""
    weights, indices = result.parts["weights"], result.parts["indices"]
    value, error = (np.zeros((*weights.shape[:-1], experts)) for _ in range(2))
    np.put_along_axis(value, chosen_experts(result), weights.value, axis=-1)
    np.put_along_axis(error, chosen_experts(result), weights.error, axis=-1)
    is_open = np.any(np.isinf(indices.error), axis=-1, keepdims=True)
    dense = exactly(0.0).at(value, np.where(is_open, np.inf, error))
    dense.of_backend = True
    return dense


def chosen_experts(result: Result) -> Any:
    """Return the indices as integers."""
    return result.parts["indices"].value.astype(int)


def row_sums(weights: Bounded) -> Bounded:
    """Return the sum of each row, which is kept as an axis."""
    return np.sum(weights, axis=-1, keepdims=True)  # type: ignore[call-overload]


def expected_weights(result: Result, logits: np.ndarray, given: dict[str, Any]) -> Bounded:
    """Return the scores of the chosen experts among all, times the scaling factor. Of tiny sigmoid scores nothing is claimed."""
    z, chosen = exactly(logits), chosen_experts(result)
    if given.get("scoring") == "sigmoid":
        vanishing = logits < LOWEST_LOGIT
        scores: Bounded = 1.0 / (1.0 + np.exp(-exactly(np.where(vanishing, 0.0, logits))))
        scores = scores.at(scores.value, np.where(vanishing, np.inf, scores.error))
    else:
        e = np.exp(z - np.max(logits, axis=-1, keepdims=True))
        scores = e / row_sums(e)
    taken = (np.take_along_axis(x, chosen, axis=-1) for x in scores.pair)
    return scores.at(*taken) * given.get("scaling_factor", 1.0)
