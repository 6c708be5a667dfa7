"""What policy_loss and its gradient share: which tokens count, their ratios, and the divisors of the reductions."""

from typing import Any

import numpy as np

from ._marks import exact, float64
from ._targets import is_zero

OBJECTIVES = ("clip", "cispo", "reinforce")
REDUCTIONS = ("token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "constant", "none")
KNOWN = (
    ("objective", OBJECTIVES),
    ("level", ("token", "sequence")),
    ("kl_estimator", ("k3", "k1", "k2")),
    ("reduction", REDUCTIONS),
)


def check_names(operation: str, **given: str) -> None:
    """Raise a ValueError if a keyword has an unknown value."""
    for name, known in KNOWN:
        if given[name] not in known:
            *others, last = map(repr, known)
            raise ValueError(f"{operation}: {name}={given[name]!r} is unknown; there are {', '.join(others)} and {last}.")


def counted(x: Any, mask: Any) -> Any:
    """Return a number of each token, 0 where the token is not counted. A number of each sequence is that of its tokens."""
    x = float64(x)
    return np.where(mask, np.reshape(x, (*x.shape, 1)) if x.ndim == 1 else x, 0.0)


def counts_of(mask: Any) -> Any:
    """Return how many tokens of each sequence are counted, as a column, 1 where there is none."""
    return np.maximum(np.sum(mask, axis=-1, keepdims=True, dtype=np.float64), 1.0)


def ratios(log_probs: Any, old_log_probs: Any, mask: Any, level: str) -> Any:
    """Return the ratio of the probabilities of each counted token, or of the geometric mean of its sequence, 1 elsewhere.

    The mean of differences may be computed as a difference of means, whose error is admitted, too.
    """
    if old_log_probs is None:
        return np.ones(mask.shape)
    x, y = counted(log_probs, mask), counted(old_log_probs, mask)
    d = x - y
    if level == "sequence":
        count = counts_of(mask)
        mean, *apart = (np.sum(part, axis=-1, keepdims=True) / count for part in (d, x, y))
        other = apart[0] - apart[1]
        d = np.where(mask, mean + (other - exact(other)), 0.0)
    return np.exp(d)


def clamped(ratio: Any, clip_low: Any, clip_high: Any) -> Any:
    """Return the ratio, at least 1 - clip_low, unless that is None, and at most 1 + clip_high."""
    at_least = ratio if clip_low is None else np.maximum(ratio, 1 - clip_low)
    return np.minimum(at_least, 1 + clip_high)


def gap(log_probs: Any, reference_log_probs: Any, mask: Any, kl_weight: Any) -> Any:
    """Return the log-probability under the reference less that under the policy; None where no divergence is asked for."""
    if is_zero(kl_weight):
        return None
    if reference_log_probs is None:
        raise ValueError("policy_loss: with a kl_weight it needs reference_log_probs.")
    return counted(reference_log_probs, mask) - counted(log_probs, mask)


def divisors(mask: Any, reduction: str, horizon: int | None) -> tuple[tuple[Any, ...], bool]:
    """Return what each token's loss is divided by before all are added up, and whether one of these numbers is 0.

    A divisor of 0 is given as 1.
    """
    b, n = mask.shape
    total, sequences = np.float64(np.sum(mask)), np.float64(b)
    given = {
        "token-mean": (total,),
        "seq-mean-token-mean": (sequences, counts_of(mask)),
        "seq-mean-token-sum": (sequences,),
        "constant": (sequences, np.float64(n if horizon is None else horizon)),
        "none": (),
    }[reduction]
    return tuple(np.maximum(x, 1.0) for x in given), bool(given) and not np.all(given[0])
