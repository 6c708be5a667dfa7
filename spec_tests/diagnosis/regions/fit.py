"""Find the conditions that all wrong elements meet, and as few right ones as possible.

The search keeps the best conjunctions of each length, since there are too many to try all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...specification import tuned
from .asking import Answer
from .condition import Condition
from .conjunction import Conjunction, rank_condition
from .table import Examples

MAX_CONDITIONS = 4  # in a region

BEAM = 32  # conjunctions that are kept of each length

_Beam = list[tuple[float, Conjunction, np.ndarray]]  # the value of a conjunction, the less the better, and its right elements


@dataclass
class _Candidates:
    """The conditions with the right elements that meet them, one row for each condition. Every wrong element meets them all."""

    conditions: list[tuple[Condition, bool]]  # with whether it is one on the call
    masks: np.ndarray  # first the elements of right answers, then those of answers that have wrong ones
    of_right_answers: int  # the number of elements of right answers
    call_starts: np.ndarray  # where the elements of each right answer begin, among those of right answers
    weights: np.ndarray  # of the right answers: whether their values are ordinary
    wrong_starts: np.ndarray  # where the right elements of each answer with wrong ones begin, among those of such answers
    wrong_weights: np.ndarray  # whether their values are ordinary
    wrong_count: int

    @classmethod
    def collect(cls, table: Examples, *, with_elements: bool) -> _Candidates:
        right = ~table.wrong
        failing = np.array(table.failing)
        best: dict[bytes, tuple[int, Condition, bool, np.ndarray]] = {}
        for condition, of_call, mask in table.candidates():
            if of_call or with_elements:
                key, rank = mask[right].tobytes(), rank_condition(condition)
                if key not in best or rank < best[key][0]:
                    best[key] = rank, condition, of_call, mask[right]
        owner, ordinary = table.owner[right], np.array([answer.ordinary for answer in table.answers], dtype=bool)
        of_right, of_wrong = owner[~failing[owner]], owner[failing[owner]]
        starts, wrong_starts = (np.flatnonzero(np.diff(owners, prepend=-1)) for owners in (of_right, of_wrong))
        masks = np.array([entry[3] for entry in best.values()], dtype=bool).reshape(len(best), int(right.sum()))
        masks = masks[:, np.argsort(failing[owner], kind="stable")]
        chosen = [(entry[1], entry[2]) for entry in best.values()]
        weights, wrong_weights = ordinary[of_right[starts]], ordinary[of_wrong[wrong_starts]]
        return cls(chosen, masks, len(of_right), starts, weights, wrong_starts, wrong_weights, int(table.wrong.sum()))

    @cached_property
    def _bits(self) -> tuple[np.ndarray, np.ndarray]:
        """The masks, eight elements to a byte, cut as `masks` is."""
        cut = self.of_right_answers
        return np.packbits(self.masks[:, :cut], axis=1), np.packbits(self.masks[:, cut:], axis=1)

    def count_common(self, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how many elements of right answers each condition has in common with the mask, and how many others."""
        parts = np.packbits(mask[: self.of_right_answers]), np.packbits(mask[self.of_right_answers :])
        of_right, others = (np.bitwise_count(bits & part).sum(axis=1) for bits, part in zip(self._bits, parts, strict=True))
        return of_right, others

    def count_doubts(self, masks: np.ndarray, false_elements: np.ndarray) -> np.ndarray:
        """Return for each row of right elements inside a region how much speaks against the region.

        false_elements: how many of each row belong to answers that have wrong elements.

        Right answers inside the region speak against it, the second less than the first, hence the logarithms. Those to ordinary
        values have the weight 3, and those to strange ones, which may hide an error, the weight 1. Where all elements inside are
        right ones of wrong answers, that counts 6, as much as three ordinary answers. Partly right answers have the weight 1.
        """
        of_right, of_wrong = masks[:, : self.of_right_answers], masks[:, self.of_right_answers :]
        if len(self.call_starts):
            covered = np.logical_or.reduceat(of_right, self.call_starts, axis=1)
        else:
            covered = np.zeros((len(masks), 0), dtype=bool)
        plain, strange = (np.count_nonzero(covered[:, chosen], axis=1) for chosen in (self.weights, ~self.weights))
        share = false_elements / (false_elements + self.wrong_count)
        if len(self.wrong_starts):
            partly = np.count_nonzero(np.logical_or.reduceat(of_wrong, self.wrong_starts, axis=1)[:, self.wrong_weights], axis=1)
        else:
            partly = np.zeros(len(masks))
        return np.asarray(3 * np.log2(1 + plain) + np.log2(1 + strange) + 6 * share + np.log2(1 + partly))


def fit(
    answers: Sequence[Answer],
    failing: Sequence[bool],
    *,
    with_elements: bool = True,
    count: Callable[[int], None] = lambda units: None,
) -> list[Conjunction]:
    """Return conjunctions that hold every wrong element, the best first: few right answers and elements inside, and simple.

    count: is told the work.
    """
    table = Examples(answers, failing)
    if not table.wrong.any():
        return []
    known = _Candidates.collect(table, with_elements=with_elements)
    whole = np.ones((1, known.masks.shape[1]), dtype=bool)
    doubts = known.count_doubts(whole, np.array([known.masks.shape[1] - known.of_right_answers]))
    beam: _Beam = [(float(doubts[0]), Conjunction(), whole[0])]
    found = {Conjunction(): beam[0][0]}
    count(tuned.WORK_OF_FACTS * len(answers))
    for _ in range(MAX_CONDITIONS):
        count(int(tuned.WORK_OF_FIT * len(beam) * known.masks.size))
        beam = _extend(known, beam) if beam and known.conditions else []
        found |= {new: value for value, new, _ in beam}
    return sorted(found, key=lambda conjunction: (found[conjunction], conjunction.text))


def _extend(known: _Candidates, beam: _Beam) -> _Beam:
    """Return the best conjunctions with one more condition."""
    ranks = np.array([rank_condition(condition) for condition, _ in known.conditions])
    useful, values = [], []
    for _, conjunction, mask in beam:
        of_right, false_elements = known.count_common(mask)
        useful.append(of_right + false_elements < np.count_nonzero(mask))
        values.append(conjunction.complexity + ranks + known.count_doubts(known.masks & mask, false_elements))
    by_value = np.concatenate(values)
    longer: dict[Conjunction, tuple[float, np.ndarray]] = {}
    limit = np.inf  # the value of the last one that is kept
    for place in np.argsort(by_value, kind="stable"):
        parent, number = divmod(int(place), len(ranks))
        if by_value[place] > limit:
            break
        condition, of_call = known.conditions[number]
        conjunction = beam[parent][1]
        if useful[parent][number] and not _repeats(conjunction, condition):
            new = conjunction.with_condition(condition, of_call=of_call)
            longer.setdefault(new, (float(by_value[place]), known.masks[number] & beam[parent][2]))
            limit = by_value[place] if len(longer) == BEAM else limit
    return sorted(((value, new, mask) for new, (value, mask) in longer.items()), key=_order)[:BEAM]


def _repeats(conjunction: Conjunction, condition: Condition) -> bool:
    """Whether a condition on the same fact is there already. A size may be both above a limit and a multiple, or between two."""
    used = {one.kind for one in conjunction.conditions if one.fact == condition.fact}
    if not used or condition.kind in ("no multiple", "multiple", "power of two", "no power of two"):
        return False
    return condition.kind not in ("above", "below") or condition.kind in used or not used <= {"above", "below"}


def _order(entry: tuple[float, Conjunction, np.ndarray]) -> tuple[float, str]:
    return entry[0], entry[1].text
