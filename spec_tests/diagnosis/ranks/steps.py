"""The steps of an equation at which ranks meet. One of them may be taken wrongly, in a manner that others have by mistake."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._marks import finite_or_zero

from ..equations.neighbours.steps import held as hold

Values = list[Any]  # one for each rank
Manner = Callable[[Sequence[Any], int], Any]  # from the parts of all ranks, and a rank, to what that rank has


def total(parts: Sequence[Any]) -> Any:
    """Return the sum over the ranks."""
    return parts[0] if len(parts) == 1 else np.sum(np.stack(list(parts), axis=0), axis=0)


def held(parts: Sequence[Any], name: str) -> list[Any]:
    """Return the parts, rounded to a format."""
    return [hold(part, name) for part in parts]


def sum_in(parts: Sequence[Any], name: str) -> Any:
    """Return the sum of parts that are stored in a format, as each partial sum is."""
    return reduce(lambda y, part: hold(y + hold(part, name), name), parts[1:], hold(parts[0], name))


def largest(parts: Sequence[Any]) -> Any:
    return np.max(np.stack(list(parts), axis=0), axis=0)


SUMS: MappingProxyType[str, tuple[Manner, float]] = MappingProxyType(
    {
        "each rank has {what} of its own part alone: it is not summed over the ranks": (lambda p, r: p[r], 0.0),
        "{what}, summed over the ranks, is multiplied by the number of ranks": (lambda p, r: total(p) * float(len(p)), 0.25),
        "{what} is the mean over the ranks, not the sum": (lambda p, r: total(p) / float(len(p)), 0.25),
        "{what} is the largest of the ranks' parts, not their sum": (lambda p, r: largest(p), 0.25),
        "the part of the last rank is left out of {what}": (lambda p, r: total(p[:-1]), 0.25),
        "the part of the first rank is left out of {what}": (lambda p, r: total(p[1:]), 0.25),
        "each rank has {what} of the first rank's part alone": (lambda p, r: p[0], 0.3),
        "each rank leaves its own part out of {what}": (lambda p, r: total([x for i, x in enumerate(p) if i != r]), 0.35),
        "each rank adds its own part once more to {what}": (lambda p, r: total([*p, p[r]]), 0.35),
        "each rank adds the part of the next rank alone to {what}": (lambda p, r: total([p[r], p[(r + 1) % len(p)]]), 0.5),
        "the parts of {what} are stored in bfloat16 before they are summed": (lambda p, r: total(held(p, "bfloat16")), 0.4),
        "the parts of {what} are stored in float16 before they are summed": (lambda p, r: total(held(p, "float16")), 0.45),
        "{what} is summed over the ranks in bfloat16": (lambda p, r: sum_in(p, "bfloat16"), 0.5),
        "{what} is summed over the ranks in float16": (lambda p, r: sum_in(p, "float16"), 0.55),
    }
)
OF_SUMMANDS: MappingProxyType[str, tuple[Manner, float]] = MappingProxyType(  # where ranks answer summands: what their sum is
    {
        "the first rank alone adds to {what}": (lambda p, r: p[0], 0.2),
        "the summand of the last rank is left out of {what}": (lambda p, r: total(p[:-1]), 0.25),
        "the summand of the first rank is left out of {what}": (lambda p, r: total(p[1:]), 0.25),
        "the summands of {what} are stored in bfloat16": (lambda p, r: total(held(p, "bfloat16")), 0.4),
        "the summands of {what} are stored in float16": (lambda p, r: total(held(p, "float16")), 0.45),
    }
)
MULTIPLES = frozenset(pattern for pattern in SUMS if "multiplied" in pattern or "mean" in pattern)
NARROW = frozenset(pattern for pattern in (*SUMS, *OF_SUMMANDS) if "float16" in pattern or "bfloat16" in pattern)
MAXIMA: MappingProxyType[str, tuple[Manner, float]] = MappingProxyType(  # of which -inf is 0, so that it shifts nothing
    {
        "each rank has {what} of its own part alone": (lambda p, r: finite_or_zero(p[r]), 0.1),
        "each rank has {what} of its own part alone, even where that is -inf": (lambda p, r: p[r], 0.15),
        "{what} is that of the first rank's part": (lambda p, r: finite_or_zero(p[0]), 0.35),
        "{what} is summed over the ranks": (lambda p, r: finite_or_zero(total(p)), 0.5),
    }
)
ONCE: MappingProxyType[str, tuple[Manner, float]] = MappingProxyType(
    {
        "{what} is added once for each rank": (lambda p, r: p[r] * float(len(p)), 0.0),
        "rank 0 alone adds {what} to its result": (lambda p, r: p[r] if r == 0 else p[r] * 0.0, 0.1),
        "{what} is divided by the number of ranks": (lambda p, r: p[r] / float(len(p)), 0.25),
    }
)
FIRSTS: MappingProxyType[str, tuple[Manner, float]] = MappingProxyType(  # of the lengths of all parts
    {
        "{what} are not counted from the rank's first": (lambda p, r: 0, 0.1),
        "a rank's first of {what} is found as if all ranks had as many as it": (lambda p, r: r * p[r], 0.2),
        "{what} are counted from the first of the next rank": (lambda p, r: sum(p[: (r + 1) % len(p)]), 0.3),
    }
)
COUNTS: MappingProxyType[str, tuple[Manner, float]] = MappingProxyType(
    {
        "{what} is divided by the rank's own number of {many}": (lambda p, r: max(p[r], 1), 0.1),
        "{what} is divided by the number of ranks times the rank's own number of {many}": (
            lambda p, r: max(len(p) * p[r], 1),
            0.3,
        ),
        "{what} is divided by the number of ranks": (lambda p, r: len(p), 0.4),
    }
)
OUTSIDE = MappingProxyType(
    {
        "{what} of other ranks are not masked: they count as the rank's first": (
            lambda i, n: np.where((i < 0) | (i >= n), 0, i),
            0.1,
        ),
        "{what} of other ranks are not masked: they count as the rank's last": (
            lambda i, n: np.where((i < 0) | (i >= n), n - 1, i),
            0.15,
        ),
        "{what} of other ranks are not masked: they count as the nearest of the rank's own": (
            lambda i, n: np.clip(i, 0, n - 1),
            0.2,
        ),
        "{what} of other ranks are not masked: they wrap around within the rank's own": (lambda i, n: i % n, 0.25),
        "the first of {what} of each rank is missed": (lambda i, n: np.where((i <= 0) | (i >= n), -1, i), 0.3),
        "the last of {what} of each rank is missed": (lambda i, n: np.where((i < 0) | (i >= n - 1), -1, i), 0.3),
    }
)


@dataclass(frozen=True)
class Slip:
    """One step that is taken wrongly: its place in the equation, and the sentence, which is also the name of the manner."""

    place: int
    pattern: str
    said: str = ""
    cost: float = 0.0


@dataclass
class Steps:
    """What an equation over ranks calls where ranks meet: each step rightly, or the one that slips."""

    count: int
    slip: Slip | None = None
    possible: list[Slip] = field(default_factory=list)  # slips at the steps that were met
    met: int = 0

    def _choose(self, manners: Any, **words: str) -> Any:
        """Return the manner of this step, None if it is taken rightly. List the manners in which it may slip."""
        place, self.met = self.met, self.met + 1
        self.possible += [Slip(place, pattern, pattern.format(**words), cost) for pattern, (_, cost) in manners.items()]
        return manners[self.slip.pattern][0] if self.slip and self.slip.place == place else None

    def sum(self, what: str, parts: Values) -> Values:
        """Return the sum over the ranks, which each has."""
        manner = self._choose(SUMS, what=what)
        return [manner(parts, r) for r in range(self.count)] if manner else [total(parts)] * self.count

    def max(self, what: str, parts: Values) -> Values:
        """Return the largest over the ranks, from which others are subtracted: 0 where that is -inf."""
        manner = self._choose(MAXIMA, what=what)
        return [manner(parts, r) for r in range(self.count)] if manner else [finite_or_zero(largest(parts))] * self.count

    def once(self, what: str, x: Any) -> Values:
        """Return what is whole on each rank and is added once. It may be None."""
        return self.each_once(what, [x] * self.count)

    def each_once(self, what: str, xs: Values) -> Values:
        """Return what each rank adds once, of which ranks may have different values."""
        manner = self._choose(ONCE, what=what)
        return [x if x is None or manner is None else manner([x] * self.count, r) for r, x in enumerate(xs)]

    def firsts(self, what: str, lengths: Sequence[int]) -> list[int]:
        """Return the number of the first entry of each rank."""
        manner = self._choose(FIRSTS, what=what)
        return [manner(lengths, r) if manner else sum(lengths[:r]) for r in range(self.count)]

    def size(self, what: str, many: str, lengths: Sequence[int]) -> list[int]:
        """Return by how many a mean divides."""
        manner = self._choose(COUNTS, what=what, many=many)
        return [manner(lengths, r) if manner else sum(lengths) for r in range(self.count)]

    def rows(self, what: str, tables: Values, ids: np.ndarray) -> Values:
        """Return for each rank its entries with these numbers along the last axis but one, zeros where others have them."""
        lengths = [table.shape[-2] for table in tables]
        firsts = self.firsts(what, lengths)
        manner = self._choose(OUTSIDE, what=what)
        return [
            _pick(table, ids - first, manner(ids - first, n) if manner and n else ids - first)
            for table, first, n in zip(tables, firsts, lengths, strict=True)
        ]

    def one_of(self, slips: Mapping[str, tuple[Any, float]]) -> Any:
        """Return what stands beside the words of the slip of this step, None if it is taken rightly."""
        return self._choose(slips)


def _pick(table: Any, wanted: np.ndarray, ids: np.ndarray) -> Any:
    n = table.shape[-2]
    inside = (ids >= 0) & (ids < n)
    padded = np.concatenate([table, np.zeros((1, table.shape[-1]))], axis=0)
    return padded[np.where(inside, ids, n)]
