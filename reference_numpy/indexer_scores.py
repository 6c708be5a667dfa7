from typing import Any

import numpy as np

from ._marks import float64, widened
from .relu import relu


def indexer_scores(q: Any, k: Any, weights: Any, *, is_causal: bool = True, activation: str = "relu") -> Any:
    """Scores by which an indexer selects keys: a weighted sum over its heads.

        score_ij = sum over h of weights_ih max(q_ih . k_j, 0),   or without the maximum where activation is "none"

    Shapes
        q (..., n, h, d),  k (..., m, d),  weights (..., n, h)  ->  (..., n, m)
    Dtypes
        as the arguments, or float32 or wider
    Domain
        All finite.
    Edges
        A key behind position i + m - n, which query i does not see, has the score -inf.

    Raises
        ValueError where activation is unknown.
    Choices
        Heads stand behind tokens. All heads share one key. Any scale is in the weights, which may be negative. Causality is
        bottom-right. In 16 bits scores are float32: rounded to 16 bits, many keys would have the same score.
    Source
        DeepSeek-AI 2025, DeepSeek-V3.2, eq. 1 (the lightning indexer). Qwen's indexer has no maximum.

    The second key has a negative product with the first head:

    >>> q, k = [[[1.0], [2.0]]], [[3.0], [-1.0]]
    >>> indexer_scores(q, k, [[1.0, 0.5]])
    array([[6., 0.]])
    >>> indexer_scores(q, k, [[1.0, 0.5]], activation="none")
    array([[ 6., -2.]])
    """
    if activation not in ("relu", "none"):
        raise ValueError(f"indexer_scores: activation={activation!r} is unknown; there are 'relu' and 'none'.")
    q, k, weights = widened(float64(q)), widened(float64(k)), widened(float64(weights))
    products = np.matmul(q, np.expand_dims(np.swapaxes(k, -1, -2), -3))
    products = relu(products) if activation == "relu" else products
    scores = np.sum(np.expand_dims(weights, -1) * products, axis=-2)
    n, m = scores.shape[-2:]
    return np.where(np.arange(m) <= np.arange(n)[:, None] + m - n, scores, -np.inf) if is_causal else scores
