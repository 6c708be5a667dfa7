"""Which tokens top_k, top_p and min_p keep, and which other sets are right where roundings decide.

All three keep the first tokens of the order of falling scores, so that what they keep together is the shortest of the three runs.
"""

from typing import Any, NamedTuple

import numpy as np

from ._sums import rows


class Rules(NamedTuple):
    """What implementations differ on."""

    temperature_order: str = "first"  # "last": the filters see the logits without the temperature
    top_p_mass: str = "after top_k"  # of which tokens top_p counts a share: "after top_k and min_p", or "whole"
    top_k_ties: str = "all"  # whether every token equal to the last kept one is kept, or "some" as many as counted
    top_p_ties: str = "some"


def rules() -> Rules:
    """Return the rules that hold if nothing is known of an implementation."""
    return Rules()


def kept_tokens(filters: "Filters", like: Any) -> Any:
    """Return which tokens are kept. Number types that carry an error know which other sets are right, too."""
    return like.kept_tokens(filters) if hasattr(like, "kept_tokens") else filters.keep()


def filters_of(logits: Any, temperature: float, top_k: float | None, top_p: float | None, min_p: float | None, how: Rules) -> Any:
    """Return the filters of one call."""
    return Filters(logits, temperature, top_k, top_p, min_p, how)


class Filters:
    """The filters of one call, on rows of logits without an error. A unit of 0 gives exact sets, u those that roundings reach."""

    def __init__(
        self, logits: Any, temperature: float, top_k: float | None, top_p: float | None, min_p: float | None, how: Rules
    ):
        self.shape, z = logits.shape, rows(logits)
        self.greedy = temperature == 0
        if self.greedy:
            temperature, top_k, top_p, min_p = 1.0, 1, None, None
        self.top_k, self.top_p, self.min_p = top_k, top_p if top_p != 1 else None, min_p if min_p else None
        self.how = Rules(top_k_ties="some") if self.greedy else how
        self.lost = np.any(np.isnan(z), axis=-1)
        with np.errstate(invalid="ignore", over="ignore"):
            self.tempered = z / temperature
            scores = self.tempered if self.how.temperature_order == "first" else z
            self.order = np.argsort(-scores, axis=-1, kind="stable")
            self.s = np.take_along_axis(scores, self.order, axis=-1)
            finite = np.where(np.isfinite(z), np.maximum(np.abs(z), np.abs(scores)), 0.0)
            if self.top_p is not None:
                self.sums = np.cumsum(np.exp(self.s - self.s[:, :1]), axis=-1)
        self.size = np.max(finite, axis=-1)
        self.present = np.sum(self.s > -np.inf, axis=-1)
        self.counted: dict[float, tuple[Any, Any, list[tuple[Any, Any]]]] = {}  # by unit

    def under(self, **ties: str) -> "Filters":
        """Return these filters under another rule of ties, which changes neither scores nor sums."""
        found = Filters.__new__(Filters)
        vars(found).update(vars(self), how=self.how._replace(**ties), counted={})
        return found

    def near(self, unit: float) -> np.ndarray:
        """Return how far apart two scores of a row may lie that roundings exchange."""
        return 0.0 * self.size if self.greedy else 8 * unit * (1 + self.size)

    def reach(self, count: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """Return how many scores lie no further than this below the last of so many."""
        last = np.take_along_axis(self.s, np.maximum(count - 1, 0)[:, None], axis=-1)
        return np.sum(self.s >= last - distance[:, None], axis=-1)

    def with_equals(self, fewest: Any, most: Any, ties: str, unit: float) -> tuple[Any, Any]:
        """Return the counts with the tokens that equal the last one, if all of them are kept."""
        if ties == "some":
            return fewest, most
        exact, high = self.reach(fewest, 0.0 * self.size), self.reach(most, self.near(unit))
        return np.where(exact == high, exact, fewest), high

    def by_top_k(self, unit: float) -> tuple[Any, Any]:
        """Return the fewest and the most tokens that top_k may keep."""
        if self.top_k is None:
            return self.present, self.present
        count = np.minimum(int(self.top_k), self.present)
        return self.with_equals(count, count, self.how.top_k_ties, unit)

    def by_min_p(self, unit: float) -> tuple[Any, Any]:
        """Return the fewest and the most tokens that min_p may keep. The largest are always kept."""
        if self.min_p is None:
            return self.present, self.present
        least, near = self.s[:, :1] + np.log(self.min_p), self.near(unit)[:, None]
        fewest = np.sum((self.s > least + near) | (self.s == self.s[:, :1]) | (near == 0) & (self.s >= least), axis=-1)
        return fewest, np.maximum(fewest, np.sum(self.s >= least - near, axis=-1))

    def by_top_p(self, unit: float, counted: tuple[Any, Any]) -> tuple[Any, Any]:
        """Return the fewest and the most tokens that top_p may keep, of so many whose mass is counted."""
        if self.top_p is None:
            return self.present, self.present
        vocab = self.s.shape[-1]
        before = np.concatenate([np.zeros((len(self.sums), 1)), self.sums[:, :-1]], axis=-1)
        slack = (4 * unit * (vocab + 4 + 2 * self.size))[:, None]
        counts = []
        for count, sign in zip(counted, (-1, 1), strict=True):
            share = before / np.take_along_axis(self.sums, np.maximum(count - 1, 0)[:, None], axis=-1)
            inside = share <= self.top_p + slack if unit and sign > 0 else share < self.top_p + sign * slack
            counts.append(np.minimum(np.maximum(np.sum(inside, axis=-1), 1), count))
        fewest, most = self.with_equals(counts[0], counts[1], self.how.top_p_ties, unit)
        return np.minimum(fewest, counted[0]), np.minimum(most, counted[1])

    def counts(self, unit: float) -> tuple[Any, Any, list[tuple[Any, Any]]]:
        """Return the fewest and the most tokens that may be kept, and both of each filter that may divide equal tokens."""
        if unit not in self.counted:
            self.counted[unit] = self.count(unit)
        return self.counted[unit]

    def count(self, unit: float) -> tuple[Any, Any, list[tuple[Any, Any]]]:
        """Count what `counts` returns."""
        k, m = self.by_top_k(unit), self.by_min_p(unit)
        both = tuple(np.minimum(a, b) for a, b in zip(k, m, strict=True))
        whole = (self.present, self.present)
        p = self.by_top_p(unit, {"after top_k": k, "after top_k and min_p": both, "whole": whole}[self.how.top_p_mass])
        dividing = [k] * (self.how.top_k_ties == "some" and self.top_k is not None)
        dividing += [p] * (self.how.top_p_ties == "some" and self.top_p is not None)
        fewest, most = (np.minimum(a, b) for a, b in zip(both, p, strict=True))
        return fewest, most, dividing

    def keep(self) -> np.ndarray:
        """Return the tokens that are kept, the first of equal ones."""
        _, count, _ = self.counts(0.0)
        inside = np.arange(self.s.shape[-1]) < count[:, None]
        found = np.zeros(self.s.shape, dtype=bool)
        np.put_along_axis(found, self.order, inside, axis=-1)
        return np.reshape(found | self.lost[:, None], self.shape)

    def admit(self, kept: np.ndarray, unit: float) -> np.ndarray:
        """Return for each row whether these tokens may be kept."""
        inside = np.take_along_axis(rows(kept), self.order, axis=-1)
        count, (fewest, most, dividing) = np.sum(inside, axis=-1), self.counts(unit)
        lowest = np.min(np.where(inside, self.s, np.inf), axis=-1)
        highest = np.max(np.where(inside, -np.inf, self.s), axis=-1)
        is_run = (lowest >= highest - self.near(unit)) | (highest == -np.inf)
        divides = np.any((self.s[:, 1:] == self.s[:, :-1]) & (inside[:, 1:] != inside[:, :-1]), axis=-1)
        may_divide = np.zeros(len(count), dtype=bool)
        for low, high in dividing:
            may_divide |= (low <= count) & (count <= high)
        right = (fewest <= count) & (count <= most) & is_run & (may_divide | ~divides) & ~self.lost
        return np.reshape(right, self.shape[:-1])

    def are_open(self, unit: float) -> np.ndarray:
        """Return for each row whether other sets than the exact one may be kept."""
        fewest, most, _ = self.counts(unit)
        reached = self.reach(most, self.near(unit))
        return np.reshape(((fewest < most) | (reached > most)) & ~self.lost, self.shape[:-1])

    def read(self, answer: np.ndarray, tiny: float) -> np.ndarray:
        """Return which tokens an answer keeps: those with a probability above 0.

        Where these are too few, the first of those whose probability may vanish are kept, too. Of equal tokens an answer may keep
        others than the first.
        """
        exact, seen = self.keep(), answer > 0
        with np.errstate(invalid="ignore"):
            e = np.where(exact, np.exp(self.tempered - np.max(self.tempered, axis=-1, keepdims=True)).reshape(self.shape), 0.0)
            vanishes = e < 2 * tiny * np.sum(e, axis=-1, keepdims=True)
        missing = np.sum(rows(exact), axis=-1, keepdims=True) - np.sum(rows(seen), axis=-1, keepdims=True)
        vanished = np.take_along_axis(rows(exact & vanishes & ~seen), self.order, axis=-1)
        filled = np.zeros(vanished.shape, dtype=bool)
        np.put_along_axis(filled, self.order, vanished & (np.cumsum(vanished, axis=-1) <= missing), axis=-1)
        return np.asarray(seen | np.reshape(filled, self.shape))
