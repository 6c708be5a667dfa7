"""The distribution that tokens are drawn from at a temperature."""

from typing import Any

import numpy as np

from ._marks import exact, float64, is_one, recomputed
from ._sums import rows
from .softmax import softmax


def tempered(logits: Any, temperature: float) -> tuple[Any, Any, Any]:
    """Return the rows of logits / temperature, their softmax, and their logsumexp.

    They are shifted by one more than their maximum. No exponential is then that of 0, which would be exact: unshifted code has to
    round every one.
    """
    logits = float64(logits)
    z = rows(logits if is_one(temperature) else logits * (1 / float64(temperature)))
    shift = exact(np.max(z, axis=-1, keepdims=True) + 1)
    e = np.exp(z - shift)
    total = np.sum(e, axis=-1, keepdims=True)
    p = e / total * recomputed(lambda scores: scores, z, axis=-1)
    return z, p, (shift + np.log(total))[:, 0]


def tempered_softmax(logits: Any, temperature: float) -> Any:
    """Return softmax(logits / temperature). Code may compute it from logarithms of probabilities."""
    z = logits if is_one(temperature) else logits * (1 / float64(temperature))
    return softmax(z, axis=-1) * recomputed(lambda scores: scores, z, axis=-1)


def mean_of(p: Any, x: Any, lse: Any) -> Any:
    """Return the mean of the finite x. Code may compute the mean of lse - x, the entropy, whose error is admitted, too.

    The roundings of a sum of p x are as large as x, which may lie far from 0; those of p log p are as large as the entropy.
    """
    entropy = np.sum(p * (lse[:, None] - x), axis=-1)
    return np.sum(p * x, axis=-1) + (entropy - exact(entropy))
