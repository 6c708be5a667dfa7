"""How often each token was drawn, compared with how often it should have been: two bounds that hold for every number of draws.

Each alarms with a probability below ALARM where the draws are right. Neither approximates a distribution by a normal one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..calls.violation import Violation
from ..specification.formats import FORMATS

ALARM = 1e-12
SHOWN_CELLS = 6  # of a failure

U = FORMATS["float32"].u


class WrongShares(Violation):
    """Tokens are not drawn with their probabilities. Draws that depend on each other may be the reason where there are pairs."""

    symptom = "shares of tokens"


def rounding_of_sums(vocab: int) -> float:
    """Return how far the roundings of sums of probabilities in float32, and of the uniforms, move a probability at most."""
    return 4 * vocab * U


def rounding_of_pairs(vocab: int) -> float:
    """Return the same of a product of two probabilities, and of a sum of such products over the vocabulary."""
    one = rounding_of_sums(vocab)
    return 2 * one + vocab * one**2


def chernoff(counts: Any, n: int, p: Any, rounding: float = 0.0) -> np.ndarray:
    """Return n KL(counts/n ‖ p) of each cell, for the nearest p within the rounding. It is infinite at a draw of p = 0."""
    share, p = np.asarray(counts, dtype=float) / n, np.asarray(p, dtype=float)
    near = np.where(p > 0, np.clip(share, np.maximum(p - rounding, 0.0), np.minimum(p + rounding, 1.0)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = np.where(share > 0, share * np.log(share / near), 0.0)
        others = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - near)), 0.0)
    return np.asarray(n * (drawn + others))


def chernoff_limit(cells: int) -> float:
    """Return the limit that n KL exceeds in some of so many cells, upwards or downwards, with a probability below ALARM."""
    return float(np.log(2 * cells / ALARM))


def largest_distance(counts: Any, n: int, p: Any) -> float:
    """Return the largest distance of a sum of the first shares from that of the first probabilities."""
    return float(np.max(np.abs(np.cumsum(np.asarray(counts) / n) - np.cumsum(p))))


def distance_limit(n: int) -> float:
    """Return the limit of Dvoretzky, Kiefer, Wolfowitz and Massart: n draws exceed it with a probability below ALARM."""
    return float(np.sqrt(np.log(2 / ALARM) / (2 * n)))


def count_tokens(tokens: np.ndarray, vocab: int) -> np.ndarray:
    """Return how often each token stands in the array. Raise a Violation if a token does not exist."""
    flat = tokens.astype(int).ravel()
    if flat.size and not (flat.min() >= 0 and flat.max() < vocab):
        raise Violation("a token is drawn that does not exist", [("vocab", str(vocab))])
    return np.bincount(flat, minlength=vocab)


def assert_shares(tokens: np.ndarray, p: np.ndarray, facts: dict[str, Any]) -> None:
    """Each token was drawn about as often as its probability says."""
    counts = count_tokens(tokens, p.size)
    try:
        assert_counts(counts, p, tokens.size, lambda t: f"token {t}", rounding_of_sums(p.size), facts)
    except Violation as violation:
        raise WrongShares(violation.what, violation.facts) from None


def assert_counts(
    counts: np.ndarray, p: np.ndarray, n: int, names: Any, rounding: float, facts: dict[str, Any], instead: str = ""
) -> None:
    """Each cell was drawn about n p times. `names` is a function of the index of a cell that says what it counts.

    `instead` says what is wrong, where that is plainer than how many counts are.
    """
    excess, limit = chernoff(counts, n, p, rounding), chernoff_limit(counts.size)
    if not np.any(excess > limit):
        return
    worst = [np.unravel_index(i, counts.shape) for i in np.argsort(-excess, axis=None)[:SHOWN_CELLS]]
    lines = [(f"{names(*map(int, at))}", f"{int(counts[at])} times, {n * p[at]:.1f} expected") for at in worst]
    what = instead or f"{int(np.sum(excess > limit))} of {counts.size} counts are too far from what is expected of {n} draws"
    largest = f"{np.max(excess):.3g}, more than ln({2 * counts.size}/{ALARM:g}) = {limit:.3g}"
    raise Violation(what, [*lines, ("n KL", largest), *((label, str(fact)) for label, fact in facts.items())])


def assert_sums(counts: np.ndarray, p: np.ndarray, n: int, facts: dict[str, Any]) -> None:
    """Each of the first tokens, taken together, were drawn about as often as their probabilities sum to."""
    distance, limit = largest_distance(counts, n, p), distance_limit(n) + rounding_of_sums(p.size)
    if distance <= limit:
        return
    drawn, exact = np.cumsum(counts), n * np.cumsum(p)
    t = int(np.argmax(np.abs(drawn - exact)))
    first = ("token 0" if t == 0 else f"the tokens 0 to {t}", f"{int(drawn[t])} times, {exact[t]:.1f} expected")
    what = f"the sum of the first shares is off by {distance:.3g}, more than {limit:.3g}, in {n} draws"
    raise WrongShares(what, [first, *((label, str(fact)) for label, fact in facts.items())])


def assert_pairs(first: np.ndarray, second: np.ndarray, p: np.ndarray, facts: dict[str, Any]) -> None:
    """Two arrays of draws from p are independent: pairs are as frequent as their products say, and equal pairs as all together.

    Where the tokens of one array have other shares, that is what is wrong.
    """
    n, vocab = first.size, p.size
    for tokens in (first, second):
        assert_shares(tokens, p, facts)
    rounding = rounding_of_pairs(vocab)
    equal = np.array([np.sum(first == second)])
    instead = f"in each of {n} pairs of draws, which are to be independent, both are the same token" if equal[0] == n else ""
    assert_counts(equal, np.array([np.sum(p**2)]), n, lambda _: "two equal tokens", rounding, facts, instead)
    pairs = count_tokens(first.astype(int) * vocab + second.astype(int), vocab**2).reshape(vocab, vocab)
    assert_counts(pairs, np.outer(p, p), n, lambda i, j: f"token {i} beside token {j}", rounding, facts)
