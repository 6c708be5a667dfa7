"""Right ways to draw tokens, as kernels have them, and one that is off by one standard deviation of the largest count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

Sampler = Callable[[np.random.Generator, np.ndarray, int], np.ndarray]


def by_sorting(rng: np.random.Generator, p: np.ndarray, n: int) -> np.ndarray:
    """Sums over the tokens in falling order, and the inverse transform."""
    order = np.argsort(-p, kind="stable")
    place = np.searchsorted(np.cumsum(p[order].astype(np.float32)), rng.random(n, dtype=np.float32), side="right")
    return np.asarray(order[np.minimum(place, p.size - 1)])


def by_gumbel(rng: np.random.Generator, p: np.ndarray, n: int) -> np.ndarray:
    return np.asarray(np.argmax(np.log(p) + rng.gumbel(size=(n, p.size)), axis=-1))


def by_exponential(rng: np.random.Generator, p: np.ndarray, n: int) -> np.ndarray:
    return np.asarray(np.argmin(rng.standard_exponential((n, p.size)) / p, axis=-1))


def by_rejection(rng: np.random.Generator, p: np.ndarray, n: int) -> np.ndarray:
    """Uniform tokens, each of which is taken with its probability over the largest."""
    found: list[np.ndarray] = []
    while sum(map(len, found)) < n:
        tokens = rng.integers(0, p.size, n)
        found.append(tokens[rng.random(n) * np.max(p) < p[tokens]])
    return np.concatenate(found)[:n]


def by_bisection(rng: np.random.Generator, p: np.ndarray, n: int) -> np.ndarray:
    """Halve the interval of tokens until one is left, by the sums at its middle, as kernels without a sort do."""
    sums, u = np.cumsum(p), rng.random(n)
    low, high = np.zeros(n, dtype=int), np.full(n, p.size - 1)
    while np.any(low < high):
        middle = (low + high) // 2
        low, high = np.where(sums[middle] > u, low, middle + 1), np.where(sums[middle] > u, middle, high)
    return high


def off_by_one_deviation(rng: np.random.Generator, p: np.ndarray, n: int) -> np.ndarray:
    """The first token has a count that is too large by one standard deviation, at the cost of the last."""
    shift = np.sqrt(p[0] * (1 - p[0]) / n)
    moved = p.copy()
    moved[0], moved[-1] = p[0] + shift, p[-1] - shift
    return by_sorting(rng, moved, n)


RIGHT: Mapping[str, Sampler] = MappingProxyType(
    {
        "sorted sums": by_sorting,
        "Gumbel": by_gumbel,
        "exponential race": by_exponential,
        "rejection": by_rejection,
        "bisection": by_bisection,
    }
)
