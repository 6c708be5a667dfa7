"""Which choices of largest entries rounding leaves open, and by which of them a call is judged.

Where scores lie within their error bounds of each other, a correct implementation may choose either. If the backend has said
what it chose, and rounding leaves that choice open, its numbers are judged by it. Otherwise nothing is claimed of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from reference_numpy._choice import group_scores, largest_of, members

from ..specification.formats import Arithmetic

if TYPE_CHECKING:
    from reference_numpy._kept import Filters

MAX_ALTERNATIVES = 16  # choices of a row among which the nearest to the answer is sought


@dataclass
class OpenChoice:
    """One choice of an evaluation: the ends of the intervals of the scores, what was chosen, and which rows are open."""

    low: np.ndarray
    high: np.ndarray
    chosen: np.ndarray
    rows: np.ndarray  # whether the choice in a row is open

    def alternatives(self) -> tuple[list[np.ndarray], np.ndarray]:
        """Return all choices that the open rows leave, and which rows have too many.

        Each is an array like `chosen`; a row with fewer choices than another repeats its own.
        """
        k, found, too_many = (
            self.chosen.shape[-1],
            dict[tuple[int, ...], list[tuple[int, ...]]](),
            np.zeros(self.rows.shape, bool),
        )
        for row in _places(self.rows):
            sets = _possible_sets(self.low[row], self.high[row], k)
            too_many[row] = not sets
            found[row] = sets or [tuple(self.chosen[row])]
        count = max(map(len, found.values()), default=1)
        arrays = [self.chosen.copy() for _ in range(count)]
        for row, sets in found.items():
            for i, array in enumerate(arrays):
                array[row] = sets[i % len(sets)]
        return arrays, too_many


@dataclass
class Choices:
    """The choices of the evaluations of one call. The first evaluation on `Bounded` makes them, later ones repeat them."""

    answered: np.ndarray | None = None  # what the backend says that it chose or drew, or the probabilities of what it kept
    forced: np.ndarray | None = None  # what the one choice of the equation shall be
    made: list[OpenChoice] = field(default_factory=list)
    open_groups: list[np.ndarray] = field(default_factory=list)
    repeated: int = 0  # choices that a later evaluation has repeated

    def open_rows(self) -> np.ndarray | None:
        """Return the rows in which some choice is open, None if none is."""
        rows = [*(choice.rows for choice in self.made), *self.open_groups]
        return np.logical_or.reduce(rows) if rows and any(map(np.any, rows)) and len({r.shape for r in rows}) == 1 else None

    def repeat(self) -> np.ndarray:
        """Return the next choice that was made."""
        self.repeated += 1
        return self.made[self.repeated - 1].chosen


_current: ContextVar[Choices | None] = ContextVar("choices", default=None)


@contextmanager
def judged_by(choices: Choices) -> Iterator[None]:
    """Let the evaluations inside make these choices."""
    token = _current.set(choices)
    try:
        yield
    finally:
        _current.reset(token)


class MakesChoices:
    """The marks of choices, of a number type that carries a bound of its error."""

    value: np.ndarray
    error: np.ndarray
    arithmetic: Arithmetic

    def largest(self, k: int) -> np.ndarray:
        return choose_largest(self.value, self.error, k)

    def in_top_groups(self, groups: int, top_groups: int, group_score: str) -> np.ndarray:
        unit = (self.arithmetic.step_storage or self.arithmetic.compute).u
        return choose_groups(self.value, self.error, unit, groups, top_groups, group_score)

    def kept_tokens(self, filters: Filters) -> np.ndarray:
        return choose_kept(filters, self.arithmetic)

    def token_drawn(self, token: np.ndarray, reach: np.ndarray) -> Self:
        return self.constant(choose_token(token, reach, self.arithmetic.compute.u))

    def constant(self, x: np.ndarray) -> Self:
        return self.at(np.asarray(x, dtype=np.float64), 0.0)  # type: ignore[attr-defined]


class RepeatsChoices:
    """The marks of choices, of a number type that holds draws: all draws choose as the evaluation before did."""

    value: np.ndarray

    def largest(self, k: int) -> np.ndarray:
        return repeat_largest(self.value[0], k)

    def token_drawn(self, token: np.ndarray, reach: np.ndarray) -> Self:
        return self.at(np.asarray(token, dtype=np.float64))  # type: ignore[attr-defined]

    def constant(self, x: np.ndarray) -> Self:
        return self.at(x[None])  # type: ignore[attr-defined]


def repeat_largest(value: np.ndarray, k: int) -> np.ndarray:
    """Return the choice of the evaluation before this one, or the k largest entries if there was none."""
    current = _current.get()
    return current.repeat() if current and current.repeated < len(current.made) else largest_of(value, k)


def choose_largest(value: np.ndarray, error: np.ndarray, k: int) -> np.ndarray:
    """Return the indices of the k largest entries of each row, as the answer has them where rounding leaves that open."""
    current, chosen = _current.get(), largest_of(value, k)
    if current is None:
        return chosen
    low, high = value - error, value + error
    rows = np.zeros(value.shape[:-1], dtype=bool)
    if k < value.shape[-1]:
        rows = np.asarray(~(_lowest(low, chosen) > _highest_other(high, chosen)))
    if current.forced is not None:
        chosen = current.forced
    elif current.answered is not None and current.answered.shape == chosen.shape:
        open_to_it = rows & is_set(current.answered, value.shape[-1])
        answered = np.where(open_to_it[..., None], current.answered, chosen)
        follows = open_to_it & (_lowest(high, answered) >= _highest_other(low, answered))
        chosen = np.where(follows[..., None], answered, chosen)
    current.made.append(OpenChoice(low, high, chosen, rows))
    return chosen


def choose_groups(
    value: np.ndarray, error: np.ndarray, unit: float, groups: int, top_groups: int, group_score: str
) -> np.ndarray:
    """Return which entries lie in the groups with the largest scores, as the answer has them where rounding leaves that open.

    unit: the unit roundoff of the sum of two entries.
    """
    current, n = _current.get(), value.shape[-1]
    chosen = largest_of(group_scores(value, groups, group_score), top_groups)
    if current is None or top_groups == groups:
        return members(chosen, groups, n)
    low, high = (group_scores(x, groups, group_score) for x in (value - error, value + error))
    low, high = low - 2 * unit * np.abs(low), high + 2 * unit * np.abs(high)
    rows = np.asarray(~(_lowest(low, chosen) > _highest_other(high, chosen)))
    if current.answered is not None and current.answered.shape[:-1] == rows.shape:
        reach = np.max(np.reshape(value - error, (*value.shape[:-1], groups, n // groups)), axis=-1)
        for row in _places(rows & is_set(current.answered, n)):
            touched = set((current.answered[row] // (n // groups)).tolist())
            chosen[row] = _groups_around(touched, low[row], high[row], reach[row], top_groups) or chosen[row]
    current.open_groups.append(rows)
    return members(chosen, groups, n)


def choose_kept(filters: Filters, arithmetic: Arithmetic) -> np.ndarray:
    """Return which tokens are kept: those of the answer, in rows where roundings may have led to them."""
    current, chosen, unit = _current.get(), filters.keep(), arithmetic.compute.u
    if current is None:
        return chosen
    if current.answered is not None and current.answered.shape == chosen.shape:
        answered = filters.read(current.answered, max(arithmetic.compute.tiny, arithmetic.storage.tiny))
        chosen = np.where(filters.admit(answered, unit)[..., None], answered, chosen)
    current.open_groups.append(filters.are_open(unit))
    return chosen


def choose_token(token: np.ndarray, reach: np.ndarray, unit: float) -> np.ndarray:
    """Return the token of each row: that of the answer, where roundings reach both.

    reach: the least unit roundoff with which each token of the vocabulary may be drawn. That of `token` is 0, unless it is drawn
    by another equation than the one whose roundings these are.
    """
    current, vocab = _current.get(), reach.shape[-1]
    if current is None:
        return token
    if current.answered is not None and current.answered.shape == token.shape:
        place = np.clip(current.answered.astype(int), 0, vocab - 1)
        is_reached = np.take_along_axis(reach, place[..., None], axis=-1)[..., 0] <= unit
        is_reached &= np.take_along_axis(reach, np.asarray(token)[..., None], axis=-1)[..., 0] <= unit
        token = np.where(is_reached & (place == current.answered), place, token)
    current.open_groups.append(np.sum(reach <= unit, axis=-1) > 1)
    return token


def is_set(indices: np.ndarray, n: int) -> np.ndarray:
    """Whether the ascending indices of each row are different ones below n."""
    return np.asarray(np.all((indices >= 0) & (indices < n), axis=-1) & np.all(indices[..., 1:] != indices[..., :-1], axis=-1))


def _places(rows: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(int(i) for i in place) for place in np.argwhere(rows)]


def _lowest(x: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return np.asarray(np.min(np.take_along_axis(x, chosen, axis=-1), axis=-1))


def _highest_other(x: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    rest = x.copy()
    np.put_along_axis(rest, chosen, -np.inf, axis=-1)
    return np.asarray(np.max(rest, axis=-1))


def _possible_sets(low: np.ndarray, high: np.ndarray, k: int) -> list[tuple[int, ...]]:
    """Return the sets of k indices that may be those of the largest entries, [] if they are too many."""
    if not np.all(np.isfinite(low) & np.isfinite(high)):
        return []
    always = [i for i in range(len(low)) if np.sum(high >= low[i]) <= k]
    never = [i for i in range(len(low)) if np.sum(low > high[i]) >= k]
    between = [i for i in range(len(low)) if i not in always and i not in never]
    if math.comb(len(between), k - len(always)) > MAX_ALTERNATIVES:
        return []
    sets = (tuple(sorted((*always, *some))) for some in itertools.combinations(between, k - len(always)))
    return [s for s in sets if _may_be_largest(set(s), low, high)]


def _groups_around(touched: set[int], low: np.ndarray, high: np.ndarray, reach: np.ndarray, count: int) -> list[int] | None:
    """Return a possible set of groups that has all of those touched, and beside them the ones whose entries compete least.

    A set is possible if there is a threshold: groups certainly above it are in the set, and those certainly below it are not.
    """
    best: tuple[float, list[int]] | None = None
    for threshold in np.unique(low):
        needed = touched | set(np.flatnonzero(low > threshold).tolist())
        allowed = set(np.flatnonzero(high >= threshold).tolist())
        spare = sorted(allowed - needed, key=lambda g: float(reach[g]))
        missing = count - len(needed)
        if not needed <= allowed or not 0 <= missing <= len(spare):
            continue
        groups = needed | set(spare[:missing])
        rival = max((float(reach[g]) for g in groups - touched), default=-math.inf)
        best = min(best, (rival, sorted(groups))) if best else (rival, sorted(groups))
    return best[1] if best else None


def _may_be_largest(chosen: set[int], low: np.ndarray, high: np.ndarray) -> bool:
    """Whether no entry outside is certainly larger than one inside."""
    outside = [i for i in range(len(low)) if i not in chosen]
    return not outside or min(high[i] for i in chosen) >= max(low[i] for i in outside)
