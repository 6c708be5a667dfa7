"""Find the conditions that all wrong elements meet, and as few right ones as possible.

The search keeps the best conjunctions of each length, since there are too many to try all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .asking import Answer
from .condition import Condition
from .conjunction import Conjunction, rank_condition
from .region_table import Examples

MAX_CONDITIONS = 4  # in a region

BEAM = 32  # conjunctions that are kept of each length


@dataclass
class _Candidates:
    """The conditions with the right elements that meet them, one row for each condition. Every wrong element meets them all."""

    conditions: list[tuple[Condition, bool]]  # with whether it is one on the call
    masks: np.ndarray
    in_wrong_calls: np.ndarray  # which right elements belong to an answer that has wrong ones
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
                key = mask[right].tobytes()
                if key not in best or rank_condition(condition) < best[key][0]:
                    best[key] = rank_condition(condition), condition, of_call, mask[right]
        owner, ordinary = table.owner[right], np.array([answer.ordinary for answer in table.answers], dtype=bool)
        of_right, of_wrong = owner[~failing[owner]], owner[failing[owner]]
        starts, wrong_starts = (np.flatnonzero(np.diff(owners, prepend=-1)) for owners in (of_right, of_wrong))
        masks = np.array([entry[3] for entry in best.values()], dtype=bool).reshape(len(best), int(right.sum()))
        chosen = [(entry[1], entry[2]) for entry in best.values()]
        weights, wrong_weights = ordinary[of_right[starts]], ordinary[of_wrong[wrong_starts]]
        return cls(chosen, masks, failing[owner], starts, weights, wrong_starts, wrong_weights, int(table.wrong.sum()))

    def count_doubts(self, masks: np.ndarray) -> np.ndarray:
        """Return for each row of right elements inside a region how much speaks against the region.

        Values at random may hide an error, so that a right answer to them counts less than one to ordinary values.
        """
        of_right = masks[:, ~self.in_wrong_calls]
        if len(self.call_starts):
            covered = np.logical_or.reduceat(of_right, self.call_starts, axis=1)
        else:
            covered = np.zeros((len(masks), 0), dtype=bool)
        plain, strange = covered[:, self.weights].sum(axis=1), covered[:, ~self.weights].sum(axis=1)
        false_elements = masks[:, self.in_wrong_calls].sum(axis=1)
        share = false_elements / (false_elements + self.wrong_count)
        of_wrong = masks[:, self.in_wrong_calls]
        if len(self.wrong_starts):
            partly = np.logical_or.reduceat(of_wrong, self.wrong_starts, axis=1)[:, self.wrong_weights].sum(axis=1)
        else:
            partly = np.zeros(len(masks))
        return np.asarray(3 * np.log2(1 + plain) + np.log2(1 + strange) + 6 * share + np.log2(1 + partly))


def fit(answers: Sequence[Answer], failing: Sequence[bool], *, with_elements: bool = True) -> list[Conjunction]:
    """Return conjunctions that hold every wrong element, the best first: few right answers and elements inside, and simple."""
    table = Examples(answers, failing)
    if not table.wrong.any():
        return []
    known = _Candidates.collect(table, with_elements=with_elements)
    whole = np.ones((1, known.masks.shape[1]), dtype=bool)
    beam: list[tuple[float, Conjunction, np.ndarray]] = [(float(known.count_doubts(whole)[0]), Conjunction(), whole[0])]
    found = {Conjunction(): beam[0][0]}
    for _ in range(MAX_CONDITIONS if len(known.conditions) else 0):
        longer: dict[Conjunction, tuple[float, np.ndarray]] = {}
        for _, conjunction, mask in beam:
            both = known.masks & mask
            doubts = known.count_doubts(both)
            useful = both.sum(axis=1) < mask.sum()
            for (condition, of_call), doubt, is_useful, own in zip(known.conditions, doubts, useful, both, strict=True):
                if is_useful and not _repeats(conjunction, condition):
                    new = _add(conjunction, condition, of_call)
                    longer.setdefault(new, (new.complexity + float(doubt), own))
        beam = sorted(((value, new, mask) for new, (value, mask) in longer.items()), key=_order)[:BEAM]
        found |= {new: value for value, new, _ in beam}
    return sorted(found, key=lambda conjunction: (found[conjunction], repr(conjunction)))


def _repeats(conjunction: Conjunction, condition: Condition) -> bool:
    """Whether a condition on the same fact is there already. A size may be both above a limit and a multiple."""
    used = {one.fact for one in conjunction.conditions}
    return condition.fact in used and condition.kind not in ("no multiple", "multiple", "power of two")


def _order(entry: tuple[float, Conjunction, np.ndarray]) -> tuple[float, str]:
    return entry[0], repr(entry[1])


def _add(conjunction: Conjunction, condition: Condition, of_call: bool) -> Conjunction:
    """Return the conjunction with one more condition, in an order that does not depend on how it was found."""
    call, element = conjunction.of_call, conjunction.of_element
    if of_call:
        return Conjunction(tuple(sorted((*call, condition), key=repr)), element)
    return Conjunction(call, tuple(sorted((*element, condition), key=repr)))
