"""A mixture of experts, of which each rank has some: of all tokens, or of its own tokens with all-to-all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from ...operator.alternative import Named, take
from ...operator.experts import Mixture, read_mixture
from ..layout import Layout
from ..steps import Steps, Values
from . import Equations

EQUATIONS = Equations()
Rule = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _from_zero(experts: np.ndarray, first: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.where(experts < length, first + experts, experts), experts < length


def _from_even(experts: np.ndarray, first: np.ndarray, length: np.ndarray, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    local = experts - rank * length
    held = (local >= 0) & (local < length)
    return np.where(held, first + local, experts), held


SENT = MappingProxyType(
    {
        "an expert's number is not counted from the first expert of its rank": ("zero", 0.1),
        "an expert's number is found as if all ranks had as many experts": ("even", 0.2),
        "the first expert of each rank is left out": ("first", 0.3),
        "the first expert of each rank but the first is left out": ("later first", 0.35),
        "the last expert of each rank is left out": ("last", 0.3),
        "the last expert of each rank but the last is left out": ("earlier last", 0.35),
        "a token's experts on other ranks are left out": ("own", 0.1),
        "a token's experts on its own rank are left out": ("others", 0.2),
        "the weights of a rank's pairs of tokens and experts are not put into the order of the experts": ("unsorted", 0.2),
        "what experts return to a rank stays in the order of the experts": ("returned", 0.2),
        "an expert is given another token of the rank: number p of its pairs gives token p modulo the tokens": ("given", 0.3),
    }
)
OF_HOMES = ("own", "others", "unsorted", "returned", "given")  # slips of ranks that have tokens of their own
SEEN = MappingProxyType(
    {
        "each rank counts experts from 0, not from its first": (lambda e, first, n, rank: e, 0.1),
        "a rank's first expert is found as if all ranks had as many experts as it": (lambda e, first, n, rank: e - rank * n, 0.2),
    }
)


@EQUATIONS.add("mixture_of_experts", w1=-3, w2=-3, w3=-3)
def mixture_of_experts(steps: Steps, layout: Layout, named: Named, own: list[Named]) -> Values:
    mixture, lengths = read_mixture(layout.spec, named), [a["w1"].shape[0] for a in own]
    firsts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(int)
    owner = np.repeat(np.arange(layout.count), lengths)[mixture.experts]
    home = _rank_of_tokens(layout, named)
    shape = named["x"].shape
    if home is None:
        seen = steps.one_of(SEEN)
        if seen:
            parts = []
            for rank, n in enumerate(lengths):
                local = seen(mixture.experts, firsts[rank], n, rank)
                held = (local >= 0) & (local < n)
                parts.append(replace(mixture, experts=np.where(held, firsts[rank] + local, 0), kept=held).sum())
            return [np.reshape(np.sum(np.stack(parts, axis=0), axis=0), shape)] * layout.count
    if (manner := steps.one_of(SENT if home is not None else _without_homes())) is not None:
        changed = _change(mixture, manner, owner, firsts[owner], np.asarray(lengths)[owner], home, layout.count)
        return _by_rank(layout, [np.reshape(changed.sum(), shape)] * layout.count)
    parts = [np.reshape(replace(mixture, kept=mixture.kept & (owner == rank)).sum(), shape) for rank in range(layout.count)]
    return _by_rank(layout, steps.sum("the result", parts))


def _without_homes() -> dict[str, tuple[str, float]]:
    """Return the slips of ranks that have all tokens."""
    return {words: (manner, cost) for words, (manner, cost) in SENT.items() if manner not in OF_HOMES}


def _rank_of_tokens(layout: Layout, named: Named) -> np.ndarray | None:
    """Return the rank of each token, None if every rank has all."""
    if layout.axis_of("x") != -2:
        return None
    x = named["x"]
    rank = np.zeros(x.shape[-2], dtype=int)
    for number, places in enumerate(layout.places("x", x)):
        rank[places] = number
    return np.broadcast_to(rank, x.shape[:-1]).reshape(-1)


def _by_rank(layout: Layout, results: Values) -> Values:
    cut = layout.of_result()
    if cut is None:
        return results
    return [take(y, cut.places(y.shape[cut.axis], layout.count)[rank], cut.axis) for rank, y in enumerate(results)]


def _change(
    mixture: Mixture,
    manner: str,
    owner: np.ndarray,
    first: np.ndarray,
    length: np.ndarray,
    home: np.ndarray | None,
    count: int,
) -> Mixture:
    experts = mixture.experts
    if manner in ("zero", "even"):
        renamed, held = _from_zero(experts, first, length) if manner == "zero" else _from_even(experts, first, length, owner)
        return replace(mixture, experts=renamed, kept=held)
    if manner in ("unsorted", "returned", "given"):
        assert home is not None
        ranked, order = _sort_pairs(mixture, home, count)
        return _take_pairs(mixture, manner, ranked, order, home)
    local = experts - first
    left_out = {
        "first": local == 0,
        "later first": (local == 0) & (owner > 0),
        "last": local == length - 1,
        "earlier last": (local == length - 1) & (owner < count - 1),
    }
    if home is not None:
        left_out |= {"own": owner != home[:, None], "others": owner == home[:, None]}
    return replace(mixture, kept=~left_out[manner])


def _sort_pairs(mixture: Mixture, home: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of tokens and experts, the likeliest expert of each token first, and as each rank sorts its own by expert.

    A pair is the number of its place among the experts of all tokens. Both arrays are (tokens, k).
    """
    scores = np.asarray(getattr(mixture.weights, "value", mixture.weights))
    scores = scores if scores.ndim == 2 else scores[0]
    likeliest = np.argsort(-scores, axis=-1, kind="stable")
    pairs = np.arange(mixture.experts.size).reshape(mixture.experts.shape)
    ranked = np.take_along_axis(pairs, likeliest, axis=-1)
    found = ranked.copy()
    for rank in range(count):
        own = ranked[home == rank]
        order = np.argsort(mixture.experts.ravel()[own.ravel()], kind="stable")
        found[home == rank] = own.ravel()[order].reshape(own.shape)
    return ranked, found


def _take_pairs(mixture: Mixture, manner: str, ranked: np.ndarray, order: np.ndarray, home: np.ndarray) -> Mixture:
    """Return the mixture in which pairs have the weights, the places or the tokens of others."""
    k, flat = mixture.k, mixture.experts.size
    if manner == "given":
        sources = mixture.sources.copy()
        for rank in np.unique(home):
            tokens, own = np.flatnonzero(home == rank), ranked[home == rank].ravel()
            sources.ravel()[own] = tokens[np.arange(len(own)) % len(tokens)]
        return replace(mixture, sources=sources)
    weights = np.reshape(mixture.weights, (flat,))
    if manner == "unsorted":
        source = np.empty(flat, dtype=int)
        source[order.ravel()] = ranked.ravel()
        return replace(mixture, weights=np.reshape(weights[source], (-1, k)))
    places = order.ravel()
    return replace(
        mixture,
        weights=np.reshape(weights[places], (-1, k)),
        experts=mixture.experts.ravel()[places].reshape(-1, k),
        sources=mixture.sources.ravel()[places].reshape(-1, k),
    )
