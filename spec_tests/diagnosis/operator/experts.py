"""What a mixture of experts may compute in place of the equation: other weights, other experts, tokens or terms left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from reference_numpy._choice import chosen_by
from reference_numpy._expert_weights import weigh
from reference_numpy._gated_network import gated_network, gating
from reference_numpy._marks import float64, piled, rounded
from reference_numpy._sums import rows
from reference_numpy.linear import linear
from reference_numpy.softmax import softmax

from ...calls.call import Call
from ...specification.registry import Specification
from .alternative import Alternative, Named

CAPACITIES = (1, 2, 4, 8, 16)
STACKS = ("w1", "w2", "w3", "b1", "b2", "b3")


@dataclass(frozen=True)
class Mixture:
    """The terms of a mixture: of each token, its k experts in ascending order, and what each of them contributes."""

    weights: Any  # (tokens, k)
    experts: np.ndarray  # (tokens, k)
    outputs: Any  # (experts, tokens, d): of every expert for every token
    sources: np.ndarray  # (tokens, k): the token that the expert is given
    kept: np.ndarray  # (tokens, k): which terms count

    @property
    def k(self) -> int:
        return self.experts.shape[1]

    @property
    def count(self) -> int:
        """How many experts there are."""
        return int(self.outputs.shape[0])

    @property
    def tokens(self) -> int:
        return self.experts.shape[0]

    def sum(self, *, as_pairs: bool = False) -> Any:
        """Return the weighted sum of each token. as_pairs: term number p, of token p // k, is added to token p % tokens."""
        terms = [self._term(j) for j in range(self.k)]
        stacked = np.stack(terms, axis=1 if as_pairs else 0)
        if as_pairs:
            stacked = np.reshape(stacked, (self.k, self.tokens, stacked.shape[-1]))
        return piled(stacked, axis=0)

    def _term(self, j: int) -> Any:
        term = rounded(self.weights[:, j : j + 1] * self.outputs[self.experts[:, j], self.sources[:, j]])
        return term if self.kept.all() else np.where(self.kept[:, j : j + 1], term, 0.0)


Change = Callable[[Mixture], Mixture]


def list_mixtures(call: Call) -> Iterator[Alternative]:
    """Yield what a mixture of experts may compute in place of the equation; nothing for other operations."""
    spec = call.operation.spec
    if spec.name != "mixture_of_experts":
        return
    for what, change, cost in (*_list_weights(), *_list_experts(), *_list_lost(), *_list_capacities()):
        yield Alternative(spec.name, what, partial(_compute, change=change), cost)
    words = "the term of each pair of a token and an expert is added to another token: number p of all pairs to token p % tokens"
    yield Alternative(spec.name, words, partial(_compute, change=lambda mixture: mixture, as_pairs=True), 0.5)


def _compute(spec: Specification, named: Named, *, change: Change, as_pairs: bool = False) -> Any:
    mixture = read_mixture(spec, named)
    return np.reshape(change(mixture).sum(as_pairs=as_pairs), named["x"].shape)


def read_mixture(spec: Specification, named: Named) -> Mixture:
    """Return the terms of the equation."""
    given = {**spec.defaults, **named}
    x, router = float64(given["x"]), float64(given["router"])
    stacks = [None if (a := given.get(name)) is None else float64(a) for name in STACKS]
    scores = softmax(rounded(linear(rows(x), router, given.get("b_router"))), axis=-1)
    experts = chosen_by(scores, given["k"], x.shape[:-1])
    weights = rounded(weigh(scores, experts, renormalize=given["renormalize"], scaling_factor=1.0))
    gate = gating(given["activation"], given["limit"], given["alpha"], given["offset"])
    of_each = [[None if a is None else a[e] for a in stacks] for e in range(router.shape[0])]
    outputs = np.stack([rounded(gated_network(rows(x), *own, **gate)) for own in of_each], axis=0)
    sources = np.repeat(np.arange(experts.shape[0])[:, None], experts.shape[1], axis=1)
    return Mixture(weights, experts, outputs, sources, np.ones(experts.shape, dtype=bool))


def _list_weights() -> Iterator[tuple[str, Change, float]]:
    """Yield other weights of the terms."""

    def take(places: Callable[[Mixture], Any]) -> Change:
        return lambda mixture: replace(mixture, weights=mixture.weights[places(mixture)])

    yield "the weight of the first of a token's experts is taken for all", take(lambda m: np.s_[:, [0] * m.k]), 0.25
    yield "the weight of the last of a token's experts is taken for all", take(lambda m: np.s_[:, [m.k - 1] * m.k]), 0.25
    for words, place in (("largest", 0), ("smallest", -1)):
        yield f"the {words} of a token's weights is taken for all of its experts", partial(_take_by_score, place=place), 0.25
    yield "a token's experts have its weights in reverse order", take(lambda m: np.s_[:, ::-1]), 0.25
    for way, sign in (("largest", -1), ("smallest", 1)):
        words = f"a token's weights are in order, the {way} first, and its experts are not"
        yield words, partial(_sort_weights, sign=sign), 0.5
    yield "every token has the weights of the first token", take(lambda m: np.zeros(m.tokens, dtype=int)), 0.25
    yield "every token has the weights of the token before", take(lambda m: np.arange(m.tokens) - 1), 0.5
    yield "the weights (tokens, k) are read as if they were stored as (k, tokens)", partial(_reread_weights, inverse=False), 0.25
    yield "the weights are stored as (k, tokens), and read as (tokens, k)", partial(_reread_weights, inverse=True), 0.25
    words = "pairs of a token and an expert are sorted by expert, and their weights are not: each has the weight of another pair"
    yield words, _leave_weights_unsorted, 0.5
    yield "the weights of a token's experts count twice", lambda m: replace(m, weights=m.weights * m.weights), 0.5
    yield "each of the k experts has the weight 1 / k", lambda m: replace(m, weights=0.0 * m.weights + 1.0 / m.k), 0.25


def _list_experts() -> Iterator[tuple[str, Change, float]]:
    """Yield other experts, or other tokens that they are given."""
    for words, rule in (
        ("expert e + 1 computes for expert e", lambda e, count: (e + 1) % count),
        ("expert e - 1 computes for expert e", lambda e, count: (e - 1) % count),
        ("the experts are counted from the last", lambda e, count: count - 1 - e),
    ):
        yield words, partial(_rename_experts, rule=rule), 0.5
    yield "the first of a token's experts computes all of its terms", lambda m: replace(m, experts=m.experts[:, [0] * m.k]), 0.25
    yield "every token has the experts of the first token", lambda m: replace(m, experts=m.experts[[0] * m.tokens]), 0.25
    words = "each expert is given another token: number p of all pairs of a token and an expert is given token p % tokens"
    yield words, lambda m: replace(m, sources=np.arange(m.experts.size).reshape(m.experts.shape) % m.tokens), 0.5
    words = "outputs of pairs that are sorted by expert go where the order of sorting sends them, not back to their own pairs"
    yield words, _send_outputs_astray, 0.5
    yield "each expert is given the token before", lambda m: replace(m, sources=(m.sources - 1) % m.tokens), 0.5


def _list_lost() -> Iterator[tuple[str, Change, float]]:
    """Yield the terms that do not count."""

    def keep(rule: Callable[[Mixture], Any]) -> Change:
        return lambda mixture: replace(mixture, kept=np.broadcast_to(rule(mixture), mixture.experts.shape))

    yield "the last of a token's experts is left out", keep(lambda m: np.arange(m.k) < max(m.k - 1, 1)), 0.25
    yield "the first of a token's experts is left out", keep(lambda m: np.arange(m.k) >= min(m.k - 1, 1)), 0.25
    yield "only the first of a token's experts counts", keep(lambda m: np.arange(m.k) < 1), 0.25
    yield "only the first two of a token's experts count", keep(lambda m: np.arange(m.k) < 2), 0.5
    for words, rule in (
        ("of a token's experts, only that with the largest weight counts", lambda place, k: place < 1),
        ("of a token's experts, that with the smallest weight is left out", lambda place, k: place < max(k - 1, 1)),
    ):
        yield words, partial(_keep_by_score, rule=rule), 0.5
    yield "the last expert is left out", keep(lambda m: m.experts < m.count - 1), 0.25
    yield "the first expert is left out", keep(lambda m: m.experts > 0), 0.25
    yield "the last token is left out", keep(lambda m: np.arange(m.tokens)[:, None] < m.tokens - 1), 0.5


def _list_capacities() -> Iterator[tuple[str, Change, float]]:
    """Yield the terms that do not count because an expert takes no more tokens."""
    sizes: list[tuple[str, Callable[[Mixture], int]]] = [
        ("⌈k · tokens / experts⌉", lambda m: -(-m.experts.size // m.count)),
        ("⌊k · tokens / experts⌋", lambda m: m.experts.size // m.count),
        ("⌈1.25 · k · tokens / experts⌉", lambda m: -(-5 * m.experts.size // (4 * m.count))),
        ("⌈tokens / experts⌉", lambda m: -(-m.tokens // m.count)),
        *((str(size), partial(lambda m, size: size, size=size)) for size in CAPACITIES),
    ]
    for words, size in sizes:
        said = f"an expert takes {words} token{'s' * (words != '1')}, and leaves out"
        yield f"{said} those after them", partial(_fill_experts, size=size, by_choice=False), 0.5
        yield (
            f"{said} others, the first experts of all tokens before the second",
            partial(_fill_experts, size=size, by_choice=True),
            0.75,
        )


def _sort_weights(mixture: Mixture, *, sign: int) -> Mixture:
    values = np.asarray(getattr(mixture.weights, "value", mixture.weights))
    order = np.argsort(sign * (values if values.ndim == 2 else values[0]), axis=-1, kind="stable")  # the first of some draws
    return replace(mixture, weights=mixture.weights[np.arange(mixture.tokens)[:, None], order])


def _order_by_score(mixture: Mixture) -> Mixture:
    """Return the mixture with each token's experts in the order of topk: those of the largest weights first."""
    values = np.asarray(getattr(mixture.weights, "value", mixture.weights))
    order = np.argsort(-(values if values.ndim == 2 else values[0]), axis=-1, kind="stable")
    each = np.arange(mixture.tokens)[:, None]
    found = replace(mixture, weights=mixture.weights[each, order], experts=mixture.experts[each, order])
    return replace(found, sources=mixture.sources[each, order], kept=mixture.kept[each, order])


def _take_by_score(mixture: Mixture, *, place: int) -> Mixture:
    mixture = _order_by_score(mixture)
    return replace(mixture, weights=mixture.weights[:, [place] * mixture.k]) if mixture.k else mixture


def _keep_by_score(mixture: Mixture, *, rule: Callable[[Any, int], Any]) -> Mixture:
    mixture = _order_by_score(mixture)
    return replace(mixture, kept=np.broadcast_to(rule(np.arange(mixture.k), mixture.k), mixture.experts.shape))


def _leave_weights_unsorted(mixture: Mixture) -> Mixture:
    """Return the mixture in which pair number p, sorted by expert, has the weight of pair number p as topk returns them."""
    mixture = _order_by_score(mixture)
    order = np.argsort(mixture.experts.ravel(), kind="stable")
    flat = np.reshape(mixture.weights, (order.size,))
    return replace(mixture, weights=np.reshape(flat[np.argsort(order)], mixture.experts.shape))


def _send_outputs_astray(mixture: Mixture) -> Mixture:
    """Return the mixture in which pair number p has the output of sorted pair order[p], and not that of its own."""
    mixture = _order_by_score(mixture)
    order = np.argsort(mixture.experts.ravel(), kind="stable")
    experts, sources = (np.reshape(x.ravel()[order[order]], x.shape) for x in (mixture.experts, mixture.sources))
    return replace(mixture, experts=experts, sources=sources)


def _reread_weights(mixture: Mixture, *, inverse: bool) -> Mixture:
    if inverse:
        return replace(mixture, weights=np.swapaxes(np.reshape(mixture.weights, (mixture.k, mixture.tokens)), 0, 1))
    return replace(mixture, weights=np.reshape(np.swapaxes(mixture.weights, 0, 1), (mixture.tokens, mixture.k)))


def _rename_experts(mixture: Mixture, *, rule: Callable[[Any, int], Any]) -> Mixture:
    return replace(mixture, experts=rule(mixture.experts, mixture.count))


def _fill_experts(mixture: Mixture, *, size: Callable[[Mixture], int], by_choice: bool) -> Mixture:
    """Return the mixture in which each expert keeps so many terms, in the order of tokens, or of a token's experts first."""
    order = mixture.experts.T if by_choice else mixture.experts
    queue, is_kept = order.ravel(), np.zeros(order.size, dtype=bool)
    for expert in np.unique(queue):
        is_kept[np.flatnonzero(queue == expert)[: size(mixture)]] = True
    kept = is_kept.reshape(order.shape)
    return replace(mixture, kept=kept.T if by_choice else kept)
