"""Exact probabilities of counts: of an alarm where a probability is shifted, and of the largest statistic where none is.

Counts of n draws are Poisson variables given that their sum is n. So the probability that all counts, or all of their sums, lie
within limits comes from the convolution of Poisson probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from spec_tests.helpers.drawn_counts import chernoff

WIDE = 14.0  # standard deviations around a mean, beyond which a count is not drawn: 10⁻⁴⁰
HALVINGS = 40


@cache
def _log_factorials(n: int) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])


def binomial(n: int, q: float) -> np.ndarray:
    """Return the probabilities of 0 … n successes among n."""
    k, f = np.arange(n + 1), _log_factorials(n)
    return np.asarray(np.exp(f[n] - f[k] - f[n - k] + k * np.log(q) + (n - k) * np.log1p(-q)))


def alarm_chance(n: int, q: float, alarms: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return with which chance n draws alarm on a count. Its probability is q; `alarms` says which counts do."""
    return float(np.sum(binomial(n, q)[alarms(np.arange(n + 1))]))


def shift_seen(n: int, p: float, chance: float, alarms: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the shift upwards of a probability p that alarms with this chance."""
    low, high = 0.0, 1 - p
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if alarm_chance(n, p + middle, alarms) < chance else (low, middle)
    return high


def _poisson(mean: float, first: int, last: int) -> np.ndarray:
    k = np.arange(first, last + 1)
    return np.asarray(np.exp(k * np.log(mean) - mean - _log_factorials(max(last, 1))[k]))


def chance_of_cells(n: int, p: np.ndarray, limit: float) -> float:
    """Return the probability that n KL is at most the limit in every cell. No probability is 0."""
    first, joint = 0, np.ones(1)
    for x in p:
        low, high = _window(n, float(x))
        counts = np.arange(low, high + 1)
        inside = counts[chernoff(counts, n, x) <= limit]
        if not inside.size:
            return 0.0
        joint = np.convolve(joint, _poisson(n * float(x), int(inside[0]), int(inside[-1])))
        first += int(inside[0])
    return _given_their_sum(n, first, joint)


def chance_of_sums(n: int, p: np.ndarray, distance: float) -> float:
    """Return the probability that every sum of the first shares is at most this far from that of the probabilities."""
    first, joint, exact = 0, np.ones(1), np.cumsum(p)
    for x, total in zip(p, exact, strict=True):
        low, high = _window(n, float(x))
        joint, first = np.convolve(joint, _poisson(n * float(x), low, high)), first + low
        near = np.abs((first + np.arange(joint.size)) / n - total) <= distance
        joint = np.where(near, joint, 0.0)
        if not np.any(near):
            return 0.0
        kept = np.flatnonzero(near)
        joint, first = joint[kept[0] : kept[-1] + 1], first + int(kept[0])
    return _given_their_sum(n, first, joint)


def _window(n: int, p: float) -> tuple[int, int]:
    width = WIDE * np.sqrt(n * p) + WIDE**2
    return max(0, int(n * p - width)), min(n, int(n * p + width))


def _given_their_sum(n: int, first: int, joint: np.ndarray) -> float:
    place = n - first
    return float(joint[place] / _poisson(n, n, n)[0]) if 0 <= place < joint.size else 0.0
