"""The choice of the largest entries of a row, and the entries that were chosen.

Roundings may decide between entries that are nearly equal. Number types that carry an error know which choices are open.
"""

from typing import Any

import numpy as np


def largest(x: Any, k: int) -> Any:
    """Return the indices of the k largest entries of each row, in ascending order. Of equal entries the first are chosen."""
    return x.largest(k) if hasattr(x, "largest") else largest_of(getattr(x, "value", x), k)


def chosen_by(scores: Any, k: int, batch: tuple[int, ...]) -> Any:
    """Return the experts of each token of scores (tokens, experts). The choice has the axes of the batch."""
    indices = largest(np.reshape(scores, (*batch, scores.shape[-1])), k)
    return np.reshape(indices, (scores.shape[0], k))


def in_top_groups(x: Any, *, groups: int, top_groups: int, group_score: str) -> Any:
    """Return which entries of each row lie in the groups with the largest scores. A group is a run of consecutive entries."""
    if hasattr(x, "in_top_groups"):
        return x.in_top_groups(groups, top_groups, group_score)
    scores = group_scores(getattr(x, "value", x), groups, group_score)
    return members(largest_of(scores, top_groups), groups, x.shape[-1])


def taken(x: Any, indices: Any) -> Any:
    """Return the entries of each row at the indices of that row."""
    n, k = x.shape[-1], indices.shape[-1]
    count = indices.size // k
    flat = np.reshape(x, (count, n))[np.arange(count)[:, None], np.reshape(indices, (count, k))]
    return np.reshape(flat, indices.shape)


def largest_of(x: np.ndarray, k: int) -> np.ndarray:
    """Return the indices of the k largest entries of each row of a plain array, in ascending order."""
    return np.sort(np.argsort(-np.asarray(x), axis=-1, kind="stable")[..., :k], axis=-1)


def group_scores(x: np.ndarray, groups: int, group_score: str) -> np.ndarray:
    """Return the score of each group of a plain array: the largest entry, or the sum of the two largest."""
    x = np.asarray(x)
    grouped = np.sort(np.reshape(x, (*x.shape[:-1], groups, x.shape[-1] // groups)), axis=-1)
    return grouped[..., -1] if group_score == "max" else np.sum(grouped[..., -2:], axis=-1)


def members(chosen: np.ndarray, groups: int, n: int) -> np.ndarray:
    """Return which of the n entries of each row lie in the chosen groups."""
    return np.repeat(np.any(chosen[..., :, None] == np.arange(groups), axis=-2), n // groups, axis=-1)
