"""What goes wrong with the selection of keys: −∞, and more places than keys."""

from typing import Any

import numpy as np

from reference_numpy._marks import number
from reference_numpy.select_keys import select_keys

from . import deviation

COLUMNS = ("https://github.com/tile-ai/tilelang/pull/2069",)


@deviation("reference", "more_places_than_keys")
def hidden_keys_are_selected(scores: Any, *, k: int) -> Any:
    """where there are fewer finite scores than k, keys of −∞ are selected, as torch.topk does.

    Shows: a k above the number of finite scores. Hides: all others.
    """
    x = number(scores)
    order = np.argsort(-x, axis=-1, kind="stable")[..., :k]
    return np.sort(np.concatenate([order, np.full((*order.shape[:-1], k - order.shape[-1]), -1)], axis=-1), axis=-1)


@deviation("reference", "largest_scores")
def smallest_scores(scores: Any, *, k: int) -> Any:
    """the smallest finite scores are selected.

    Shows: a k below the number of finite scores. Hides: a k that selects all.
    """
    return select_keys(np.where(np.isneginf(x := number(scores)), -np.inf, -x), k=k)


@deviation("reference", seen=("https://github.com/ml-explore/mlx-lm/pull/1552",))
def first_key_always_selected(scores: Any, *, k: int) -> Any:
    """the first key is selected whatever its score is, as one that takes the weights which nothing else deserves.

    Shows: a k below the number of finite scores. Hides: a k that selects all, and a first key of −∞.
    """
    x = number(scores)
    is_first = np.arange(x.shape[-1]) == 0
    return select_keys(np.where(is_first & np.isfinite(x), np.finfo(np.float64).max, x), k=k)


@deviation("reference", "more_places_than_keys", seen=COLUMNS)
def last_key_fills_the_places(scores: Any, *, k: int) -> Any:
    """places beyond the number of keys hold the last key, in place of −1.

    Shows: k > m. Hides: all others.
    """
    found = select_keys(scores, k=k)
    m = number(scores).shape[-1]
    return np.where((found == -1) & (np.arange(k) < k - m), m - 1, found)


@deviation("reference", "largest_scores")
def one_key_too_far(scores: Any, *, k: int) -> Any:
    """the largest score is skipped, and the one behind the k largest is selected in its place.

    Shows: a k below the number of finite scores. Hides: a k that selects all.
    """
    x = number(scores)
    top = np.argsort(-x, axis=-1, kind="stable")[..., :1]
    rest = np.where(np.arange(x.shape[-1]) == top, -np.inf, x)
    return np.where(np.sum(np.isfinite(x), axis=-1, keepdims=True) > k, select_keys(rest, k=k), select_keys(x, k=k))


@deviation("reference", "permuted_scores", "largest_scores")
def first_keys(scores: Any, *, k: int) -> Any:
    """the first finite scores are selected, not the largest.

    Shows: a k below the number of finite scores. Hides: a k that selects all.
    """
    x = number(scores)
    return select_keys(np.where(np.isneginf(x), x, -1.0 * np.arange(x.shape[-1])), k=k)


@deviation("reference", "shift_of_the_scores", "selection_of_every_key")
def negative_scores_are_hidden(scores: Any, *, k: int) -> Any:
    """scores below 0 are never selected, as those of padding.

    Shows: negative scores. Hides: positive scores.
    """
    x = number(scores)
    return select_keys(np.where(x < 0, -np.inf, x), k=k)
