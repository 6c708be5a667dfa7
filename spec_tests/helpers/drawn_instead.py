"""Which other probabilities tokens were drawn with, if they were not drawn with their own.

Each candidate is a slip of a sampler, with the probabilities q that follow from it. Counts of tokens name it if they are near to
q in every distribution that was drawn from, and to no other candidate's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType

import numpy as np

from .drawn_counts import WrongShares, chernoff, chernoff_limit, distance_limit, largest_distance, rounding_of_sums

NODES = 400  # of an integral
LARGEST_GAP = 1e-5  # of the sum of an integral's probabilities from 1
LEAST_FREEDOM = 3  # shares that the distributions leave free: fewer may fit by chance

Drawn = tuple[np.ndarray, np.ndarray]  # the probabilities of tokens, and how often each was drawn


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and the weights of an integral from -1 to 1."""
    return np.polynomial.legendre.leggauss(NODES)


def _integrated(p: np.ndarray, terms: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the integral from 0 to infinity of what `terms` gives for each point (a row) and each positive probability."""
    nodes, weights = _nodes()
    v = (nodes + 1) / 2
    q, positive = np.zeros(p.size), p > 0
    with np.errstate(all="ignore"):
        values = terms((v**2 / (1 - v) ** 2)[:, None], p[positive])
        q[positive] = np.nan_to_num(values * (2 * v / (1 - v) ** 3)[:, None]).T @ (weights / 2)
    return q if abs(np.sum(q) - 1) < LARGEST_GAP else np.full(p.size, np.nan)


def _race_of_uniforms(p: np.ndarray) -> np.ndarray:
    """Return the probabilities of the largest p / u, where each u is uniform: u / p is so from 0 to 1 / p."""
    nodes, weights = _nodes()
    q, positive = np.zeros(p.size), p > 0
    x = ((nodes + 1) / 2)[:, None] / np.max(p)
    left = 1 - x * p[positive]
    q[positive] = (p[positive] / left * np.prod(left, axis=-1, keepdims=True)).T @ (weights / 2 / np.max(p))
    return q if abs(np.sum(q) - 1) < LARGEST_GAP else np.full(p.size, np.nan)


def _logistic(p: np.ndarray) -> np.ndarray:
    """Return the probabilities of the largest ln p + ln(u / (1 − u))."""
    return _integrated(p, lambda s, p: p / (1 + p * s) * np.prod(1 / (1 + p * s), axis=-1, keepdims=True))


def _minima(p: np.ndarray) -> np.ndarray:
    """Return the probabilities of the largest p · E, where each E is exponential."""

    def terms(x: np.ndarray, p: np.ndarray) -> np.ndarray:
        below = -np.expm1(-x / p)
        return np.asarray(np.exp(-x / p) / p / below * np.prod(below, axis=-1, keepdims=True))

    return _integrated(p, terms)


def _over_sum(weights: np.ndarray) -> np.ndarray:
    return np.asarray(weights / np.sum(weights))


CANDIDATES: MappingProxyType[str, Callable[[np.ndarray], np.ndarray]] = MappingProxyType({
    "the race has uniform noise, where it has to be exponential": _race_of_uniforms,
    "the noise is logistic, ln u − ln(1 − u), where it has to be Gumbel's, −ln(−ln u)": _logistic,
    "Gumbel's noise is subtracted, or that of minima is added": _minima,
    "the probabilities are taken for logits: softmax(p)": lambda p: _over_sum(np.exp(p)),
    "the probabilities are taken for logits: softmax(p) over the tokens of p > 0": lambda p: _over_sum(np.exp(p) * (p > 0)),
    "every token is as likely": lambda p: np.full(p.size, 1 / p.size),
    "every token of p > 0 is as likely": lambda p: _over_sum(1.0 * (p > 0)),
    "p² over its sum": lambda p: _over_sum(p**2),
    "√p over its sum": lambda p: _over_sum(np.sqrt(p)),
    "the token after the one that was drawn": lambda p: np.roll(p, 1),
    "the token before the one that was drawn": lambda p: np.roll(p, -1),
    "places in falling order are taken for tokens": lambda p: np.sort(p)[::-1],
    "places in rising order are taken for tokens": lambda p: np.sort(p),
    "tokens are counted from the last": lambda p: p[::-1],
})  # fmt: skip


def name_other_draws(drawn: Sequence[Drawn]) -> str:
    """Return the candidate that explains all counts, "" if none does, or several with other probabilities do."""
    if sum(np.count_nonzero(p) - 1 for p, _ in drawn) < LEAST_FREEDOM:
        return ""
    found: dict[bytes, str] = {}
    for name, probabilities in CANDIDATES.items():
        laws = [probabilities(p) for p, _ in drawn]
        if all(_fits(counts, q) for (_, counts), q in zip(drawn, laws, strict=True)):
            found.setdefault(b"".join(np.round(q, 6).tobytes() for q in laws), name)
    return next(iter(found.values())) if len(found) == 1 else ""


def _fits(counts: np.ndarray, q: np.ndarray) -> bool:
    n = int(np.sum(counts))
    if not np.all(np.isfinite(q)) or np.any(counts[q == 0]):
        return False
    near = bool(np.all(chernoff(counts, n, q, rounding_of_sums(q.size)) <= chernoff_limit(q.size)))
    return near and largest_distance(counts, n, q) <= distance_limit(n) + rounding_of_sums(q.size)


@contextmanager
def other_draws_named(list_drawn: Callable[[], Sequence[Drawn]]) -> Iterator[None]:
    """Add what the tokens were drawn with to a violation of their shares that is raised in the block."""
    try:
        yield
    except WrongShares as violation:
        if not (name := name_other_draws(list_drawn())):
            raise
        raise WrongShares(f"{violation.what}: {name}", violation.facts) from None
