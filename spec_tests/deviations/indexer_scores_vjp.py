"""What goes wrong with the gradients of an indexer's scores."""

from typing import Any

from reference_numpy.indexer_scores_vjp import indexer_scores_vjp

from . import deviation


@deviation("reference", "hidden_keys")
def causality_not_differentiated(
    cotangent: Any, q: Any, k: Any, weights: Any, *, is_causal: bool = True, activation: str = "relu"
) -> Any:
    """the cotangents of hidden keys are passed on.

    Shows: causality and several queries. Hides: is_causal = False; one query.
    """
    return indexer_scores_vjp(cotangent, q, k, weights, is_causal=False, activation=activation)


@deviation("reference")
def maximum_not_differentiated(
    cotangent: Any, q: Any, k: Any, weights: Any, *, is_causal: bool = True, activation: str = "relu"
) -> Any:
    """queries and keys have the gradients of products that are not cut off.

    Shows: negative products. Hides: activation "none"; positive products.
    """
    dq, dk, _ = indexer_scores_vjp(cotangent, q, k, weights, is_causal=is_causal, activation="none")
    return dq, dk, indexer_scores_vjp(cotangent, q, k, weights, is_causal=is_causal, activation=activation)[2]
