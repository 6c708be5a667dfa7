from typing import Any

from ._reverse_mode import vjp
from .indexer_scores import indexer_scores


def indexer_scores_vjp(cotangent: Any, q: Any, k: Any, weights: Any, *, is_causal: bool = True, activation: str = "relu") -> Any:
    """Gradients of indexer_scores: with the products p_ihj = q_ih . k_j and the cotangent c,

        dp_ihj = weights_ih c_ij where p > 0, else 0,   dq_ih = sum_j dp_ihj k_j,   dk_j = sum_ih dp_ihj q_ih,
        dweights_ih = sum_j c_ij max(p_ihj, 0)

    Shapes
        cotangent (..., n, m),  q (..., n, h, d),  k (..., m, d),  weights (..., n, h)
        ->  (dq, dk, dweights), each as its argument
    Dtypes
        as the arguments
    Domain
        As in indexer_scores; cotangents finite.
    Edges
        A score of -inf passes nothing on.

    Raises
        ValueError as indexer_scores does.
    Choices
        The chain rule, step by step, through the equation. Where a product is exactly 0, or too near to tell, nothing is claimed.
    Source
        Differentiation of DeepSeek-AI 2025, DeepSeek-V3.2, eq. 1.

    >>> indexer_scores_vjp([[1.0, 1.0]], [[[1.0]]], [[3.0], [-1.0]], [[2.0]])[2]
    array([[3.]])
    """
    return vjp(indexer_scores, cotangent, q, k, weights, is_causal=is_causal, activation=activation)
