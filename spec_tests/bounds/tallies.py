"""Sums of which one term occurs several times: the mark `tallied`, of both number types that carry an error.

Let A be the sum of the sizes of the m other terms, F the size of the term that occurs c times, and u the unit roundoff.
Code that adds one at a time, in any order and with any parentheses, makes n = m + c - 1 additions. Each adds an error of at most
u times the sizes of all terms below it, so that a term counts as often as there are additions above it. That is at most n for a
single one, and n, n, n - 1, ..., m + 1 for c of them, as where they are added first. The terms below have grown by earlier
roundings, by a factor of at most (1 + u)^(n - 1). The error is at most

    u (1 + u)^n (n A + (m c + c (c + 1) / 2 - 1) F),  c >= 1.

Code that multiplies rounds c F, unless c = 1, and makes m additions, whose error is not larger.
In the class eager each total may be rounded twice, to the compute format and to the dtype of the arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..specification.formats import Arithmetic


def find_tally_error(sizes: Any, size: Any, counts: Any, others: int, arithmetic: Arithmetic) -> np.ndarray:
    """Return the error of such a sum.

    sizes: of the other terms together. size: of the term that occurs as often as is counted. others: how many they are.
    """
    u, narrow = arithmetic.compute.u, arithmetic.step_storage
    u = u if narrow is None else u + narrow.u + u * narrow.u
    additions = others + counts - 1
    of_term = np.where(counts > 0, others * counts + counts * (counts + 1) / 2 - 1, 0.0)
    return np.asarray(u * np.power(1 + u, additions) * (additions * sizes + of_term * size))


class BoundsTallies:
    """The mark, of a number type that carries a bound of its error."""

    value: np.ndarray
    error: np.ndarray
    arithmetic: Arithmetic

    def tallied(self, others: Sequence[Any], term: Any, counts: Any) -> Self:
        """Return the sum of self, the others, and the term as often as it is counted. In the class eager each total is stored."""
        terms = [x if hasattr(x, "error") else self.round_literal(x) for x in (self, *others, term)]  # type: ignore[attr-defined]
        values, errors = ([getattr(x, part) for x in terms] for part in ("value", "error"))
        sizes = [np.abs(value) + error for value, error in zip(values, errors, strict=True)]
        own = find_tally_error(sum(sizes[:-1]), sizes[-1], counts, len(terms) - 1, self.arithmetic)
        infinite = np.any([np.isinf(x) for x in np.broadcast_arrays(*values)], axis=0)
        inherited = sum(errors[:-1]) + counts * errors[-1] + np.where(infinite, 0.0, own)
        return self.finish_sum(sum(values[:-1]) + counts * values[-1], inherited, 0.0, infinite)  # type: ignore[attr-defined]
