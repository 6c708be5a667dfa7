"""Which two known bugs together explain what a backend answered, where neither does alone.

Two bugs may hide each other: heads that are split and merged without a transpose have the right shape, as if nothing were wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..calls.call import Call
from ..deviations import SUBSTITUTED, Deviation, find, find_counterpart, join
from ..specification.work import Budget, IsOver, never
from .evidence import Evidence, answer_of, is_wrong, truth_of, wrong_in
from .explanation import Explanation
from .fit import Fit, evaluate, explains, predicts, shows, try_fit
from .known_deviations import MIN_WRONG_CALLS, Ask, is_contradicted, list_candidates
from .wish import Wish

LISTING_SHARE = 0.6  # of the budget; the rest is to judge the pairs that come nearer
MAX_ANCHORS = 6  # bugs that explain a wrong call alone
MAX_JUDGED = 24  # pairs of one list, the nearest first
FURTHER_CALLS = 24  # as laws draw them, all of whose answers a pair must explain

Pair = tuple[float, Deviation, Deviation]  # how far it is from the answer of a call, the outer and the inner bug


def find_pair(evidence: Evidence, budget: Budget, ask: Ask) -> Explanation | None:
    """Return the two known bugs that explain the evidence together, and answers to further calls.

    Return None if no pair does, if one of them alone does, or if several pairs do equally well.
    """
    if len(evidence.wrong) < MIN_WRONG_CALLS:
        return None
    further = list[Call]()
    for near in _list_near_pairs(evidence.wrong, budget):
        fits = dict[frozenset[str], Fit]()
        for _, outer, inner in sorted(near, key=lambda item: item[0])[:MAX_JUDGED]:
            ids, pair = frozenset({outer.id, inner.id}), join(outer, inner)
            if ids in fits or (fit := try_fit(pair, evidence.wrong, evidence.right, budget.is_spent)) is None:
                continue
            further = further or list(islice(ask(Wish(as_drawn=True)), FURTHER_CALLS))
            if _is_confirmed(pair, (outer, inner), evidence, further, budget) and not is_contradicted(
                pair, evidence.wrong, ask, budget.is_spent
            ):
                fits[ids] = fit
        if budget.is_spent():
            return None
        if fits:
            best = [fit for fit in fits.values() if fit.order == min(other.order for other in fits.values())]
            return _describe(best[0].deviation) if len(best) == 1 else None
    return None


def explain_together(outer: str, inner: str, evidence: Evidence, is_late: IsOver = never) -> Explanation | None:
    """Return the explanation that two known bugs, which have shown apart before, are both at work; None if it does not fit."""
    bugs = [found for name in (outer, inner) if (found := find(name)) and found.kind in SUBSTITUTED]
    if not evidence.wrong or {bug.operation for bug in bugs} != {evidence.wrong[0].operation.name} or len(bugs) < 2:
        return None
    pair = join(*bugs)
    return _describe(pair) if try_fit(pair, evidence.wrong, evidence.right, is_late) else None


def _is_confirmed(
    pair: Deviation, alone: Iterable[Deviation], evidence: Evidence, further: Sequence[Call], budget: Budget
) -> bool:
    """Whether further answers speak for the pair, and for neither bug alone."""
    for call in further:
        if budget.is_spent() or not explains(pair, call):
            return False
    wrong = [*evidence.wrong, *filter(is_wrong, further)]
    return all(sum(not explains(deviation, call) for call in wrong) >= MIN_WRONG_CALLS for deviation in alone)


def _list_near_pairs(wrong: Sequence[Call], budget: Budget) -> Iterator[list[Pair]]:
    """Yield lists of pairs that come nearer to a wrong answer than either bug alone.

    First come those of a bug that explains some wrong calls alone, where the other one hides: each in a list of its own.
    """
    values = dict[Deviation, np.ndarray]()  # of the first wrong call
    for deviation in list_candidates(wrong[0].operation):
        if budget.is_spent():
            return
        if deviation.kind in SUBSTITUTED and (value := evaluate(deviation, wrong[0])) is not None:
            values[deviation] = value
    listing = budget.part(LISTING_SHARE)
    nearest = sorted(values, key=lambda deviation: _share(values[deviation], wrong[0]))[: 2 * MAX_ANCHORS]
    anchors = [deviation for deviation in nearest if shows(deviation, wrong[0]) and explains(deviation, wrong[0])]
    for anchor in anchors[:MAX_ANCHORS]:
        if other := next((call for call in wrong if not explains(anchor, call)), None):
            yield [*_come_nearer(((anchor, deviation) for deviation in values if deviation is not anchor), other, listing)]
    if not anchors:
        yield [*_come_nearer(_rank_pairs(values, wrong[0]), wrong[0], listing)]


def _come_nearer(pairs: Iterable[tuple[Deviation, Deviation]], call: Call, budget: Budget) -> Iterator[Pair]:
    """Yield the pairs that come nearer to the answer of a call than their first bug alone, and not less near than the second."""
    alone = dict[Deviation, float]()
    for a, b in pairs:
        if budget.is_spent():
            return
        for deviation in (a, b):
            if deviation not in alone:
                alone[deviation] = _share(evaluate(deviation, call), call)
        for outer, inner in ((a, b), (b, a)):
            together = _share(evaluate(join(outer, inner), call), call)
            if together < alone[a] and together <= alone[b]:
                yield together, outer, inner


def _rank_pairs(values: dict[Deviation, np.ndarray], call: Call) -> Iterator[tuple[Deviation, Deviation]]:
    """Yield all pairs, the likely ones first, without the evaluation of any.

    In turn come pairs whose differences from the truth add up to that of the answer, pairs whose factors multiply, and pairs of
    bugs that are near alone: bugs that change what the other one makes of the values do neither.
    """
    wrong, known = wrong_in(call), list(values)
    answer, truth = answer_of(call)[wrong], truth_of(call).value[wrong]
    call.operation.backend.meter.add(len(known) ** 2 * answer.size)
    own = np.reshape([values[deviation][wrong] for deviation in known], (len(known), answer.size))
    nearest = sorted(range(len(known)), key=lambda i: _share(values[known[i]], call))
    near = [(nearest[i], nearest[total - i]) for total, i in _list_sums(len(known))]
    with np.errstate(all="ignore"):
        added = _rank_sums(own - truth, answer - truth)
        multiplied = _rank_sums(np.log(np.abs(own / truth)), np.log(np.abs(answer / truth)))
    for i, j in dict.fromkeys(tuple(sorted(pair)) for pairs in zip(added, multiplied, near, strict=True) for pair in pairs):
        yield known[i], known[j]


def _share(value: np.ndarray | None, call: Call) -> float:
    """Return how far a value is from the wrong elements of an answer, as a share of how far the truth is: at most 1."""
    if value is None:
        return 1.0
    wrong, answer, stored = wrong_in(call), answer_of(call), call.storage.round(value)
    with np.errstate(all="ignore"):
        shares = np.fmin(np.abs(answer - stored) / np.abs(answer - truth_of(call).value), 1.0)
    is_same = (answer == stored) | (np.isnan(answer) & np.isnan(stored))
    return float(np.mean(np.where(is_same, 0.0, shares)[wrong]))


def _list_sums(count: int) -> Iterator[tuple[int, int]]:
    """Yield the sum of two ranks and the smaller of them, the small sums first."""
    for total in range(1, 2 * count):
        for i in range(max(0, total - count + 1), (total + 1) // 2):
            yield total, i


def _rank_sums(parts: np.ndarray, whole: np.ndarray) -> list[tuple[int, int]]:
    """Return all pairs of rows, first those whose sum is nearest to the whole."""
    first, second = np.triu_indices(len(parts), 1)
    with np.errstate(all="ignore"):
        far = [
            np.mean(np.fmin(np.abs(parts[i] + parts[i + 1 :] - whole) / np.abs(whole), 1.0), axis=-1) for i in range(len(parts))
        ]
    order = np.argsort(np.concatenate(far), kind="stable") if far else np.array([], int)
    return [(int(first[i]), int(second[i])) for i in order]


def _describe(pair: Deviation) -> Explanation:
    def predicts_call(call: Call) -> bool | None:
        counterpart = find_counterpart(pair, call.operation.name)
        return predicts(counterpart, call) if counterpart else None

    def find_equation(operation: str) -> Callable[..., Any] | None:
        counterpart = find_counterpart(pair, operation)
        return counterpart.function if counterpart else None

    root = pair.part or pair
    return Explanation("deviation", pair.id, pair.what, root.operation, predicts_call, equation_of=find_equation)
