"""What goes wrong with the scores of an indexer: its maximum, its weights, and hidden keys."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.indexer_scores import indexer_scores
from reference_numpy.relu import relu

from . import deviation

QWEN = ("https://github.com/meta-pytorch/attention-gym/pull/449",)


@deviation("reference", "both_signs", "not_negative", seen=QWEN)
def maximum_left_out(q: Any, k: Any, weights: Any, *, is_causal: bool = True, activation: str = "relu") -> Any:
    """products are not cut off at 0, whatever the activation is.

    Shows: negative products. Hides: activation "none"; positive products.
    """
    return indexer_scores(q, k, weights, is_causal=is_causal, activation="none")


@deviation("reference", "both_signs", seen=QWEN)
def maximum_always(q: Any, k: Any, weights: Any, *, is_causal: bool = True, activation: str = "relu") -> Any:
    """products are cut off at 0, whatever the activation is.

    Shows: negative products with activation "none". Hides: activation "relu".
    """
    return indexer_scores(q, k, weights, is_causal=is_causal)


@deviation("reference", "sum_over_heads")
def mean_over_heads(q: Any, k: Any, weights: Any, *, is_causal: bool = True, activation: str = "relu") -> Any:
    """the heads are averaged, not summed.

    Shows: several heads. Hides: one head.
    """
    return indexer_scores(q, k, float64(weights) / float(weights.shape[-1]), is_causal=is_causal, activation=activation)


@deviation("reference", "permuted_heads")
def first_head_counts_twice(q: Any, k: Any, weights: Any, *, is_causal: bool = True, activation: str = "relu") -> Any:
    """the first head has twice its weight.

    Shows: any first head. Hides: a weight of 0.
    """
    first = np.where(np.arange(weights.shape[-1]) == 0, 2.0, 1.0)
    return indexer_scores(q, k, float64(weights) * first, is_causal=is_causal, activation=activation)


@deviation("reference", "sum_over_heads")
def maximum_of_the_sum(q: Any, k: Any, weights: Any, *, is_causal: bool = True, activation: str = "relu") -> Any:
    """the maximum is taken of the weighted sum, not of each product.

    Shows: products of both signs. Hides: one head of a positive weight; activation "none".
    """
    scores = indexer_scores(q, k, weights, is_causal=False, activation="none")
    n, m = scores.shape[-2:]
    scores = relu(scores) if activation == "relu" else scores
    return np.where(np.arange(m) <= np.arange(n)[:, None] + m - n, scores, -np.inf) if is_causal else scores


@deviation("reference", "hidden_keys")
def zero_for_hidden_keys(q: Any, k: Any, weights: Any, *, is_causal: bool = True, activation: str = "relu") -> Any:
    """a hidden key has the score 0, which exceeds negative scores.

    Shows: keys behind a query. Hides: the last query; is_causal = False.
    """
    scores = indexer_scores(q, k, weights, is_causal=False, activation=activation)
    n, m = scores.shape[-2:]
    return np.where(np.arange(m) <= np.arange(n)[:, None] + m - n, scores, 0.0) if is_causal else scores


@deviation("reference", "hidden_keys")
def causality_from_the_first_key(q: Any, k: Any, weights: Any, *, is_causal: bool = True, activation: str = "relu") -> Any:
    """query i sees the keys up to i (top-left), where it stands at key i + m − n.

    Shows: more keys than queries under causality. Hides: as many of both; is_causal = False.
    """
    scores = indexer_scores(q, k, weights, is_causal=False, activation=activation)
    n, m = scores.shape[-2:]
    return np.where(np.arange(m) <= np.arange(n)[:, None], scores, -np.inf) if is_causal else scores


@deviation("reference", "keys_are_separate")
def scores_less_that_of_the_first_key(q: Any, k: Any, weights: Any, *, is_causal: bool = True, activation: str = "relu") -> Any:
    """a tenth of the first key's score is subtracted from all scores: the selection is the same, the scores are not.

    Shows: any scores. Hides: a first score of 0.
    """
    scores = indexer_scores(q, k, weights, is_causal=False, activation=activation)
    n, m = scores.shape[-2:]
    scores = scores - scores[..., :1] * 0.1
    return np.where(np.arange(m) <= np.arange(n)[:, None] + m - n, scores, -np.inf) if is_causal else scores
