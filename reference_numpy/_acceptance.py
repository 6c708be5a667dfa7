"""Which drafted tokens are accepted, and which token comes after them; and how near to another outcome the decisions are.

A decision is given with its closeness: a unit roundoff of that size, or a larger one, may turn it around. It is 0 where any
rounding may, and infinite where none does. Only number types that carry an error act on it.
"""

from typing import Any

import numpy as np

TINY = 2.0**-100  # below it, code may take a probability for 0


def number(x: Any) -> Any:
    """Return the numbers of an argument. They are given, so that they have no error."""
    return np.asarray(getattr(x, "value", x), dtype=np.float64)


def acceptance(p: Any, q: Any, u: Any) -> tuple[Any, Any]:
    """Return which tokens are accepted, u q < p, and the closeness of each decision. What the target forbids is rejected."""
    distance = np.abs(u * q - p) / (4 * np.where(p > 0, p, 1.0))
    return u * q < p, np.where(p > 0, np.where(p < TINY, 0.0, distance), np.inf)


def inverse(weights: Any, noise: Any) -> tuple[Any, Any]:
    """Return the first place of each row up to which the weights sum to more than the noise, and the closeness.

    It is the last place of a positive weight where rounding lets no sum exceed the noise.
    """
    sums, vocab = np.cumsum(weights, axis=-1), weights.shape[-1]
    last = vocab - 1 - np.argmax(weights[..., ::-1] > 0, axis=-1)
    above = sums > noise[..., None]
    place = np.where(np.any(above, axis=-1), np.minimum(np.argmax(above, axis=-1), last), last)
    counts = (sums > 0) & (np.arange(vocab) < last[..., None])  # beyond the last place the outcome is the same
    distance = np.min(np.where(counts, np.abs(sums - noise[..., None]), np.inf), axis=-1)
    return place, distance / (4 * vocab)


def undecided(x: Any, closeness: Any, like: Any) -> Any:
    """Return x. Mark entries of which nothing is claimed, because a rounding may turn around what they were decided by."""
    return like.undecided(x, closeness) if hasattr(like, "undecided") else x
