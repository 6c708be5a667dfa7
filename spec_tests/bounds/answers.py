"""Results that other results are judged at: numbers in few bits at the scale that was returned with them.

Errors then do not add up, and a wrong scale is one failure instead of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Self

import numpy as np

from ..specification.formats import Arithmetic

_answers: ContextVar[Mapping[str, np.ndarray]] = ContextVar("answers", default=MappingProxyType({}))


@contextmanager
def judged_at(answers: Mapping[str, np.ndarray]) -> Iterator[None]:
    """Let the evaluations inside be judged at these results, by name."""
    token = _answers.set(answers)
    try:
        yield
    finally:
        _answers.reset(token)


class JudgedAtAnswers:
    """The marks of results that others hang on, of a number type that carries a bound of its error."""

    value: np.ndarray
    error: np.ndarray
    arithmetic: Arithmetic

    def between(self, where: np.ndarray, low: float, high: float) -> Self:
        middle, radius = low + (high - low) / 2, (high - low) / 2
        return self.at(np.where(where, middle, self.value), np.where(where, radius, self.error))  # type: ignore[attr-defined]

    def answered(self, name: str, least: float, roundings: int) -> Self:
        """Return what was returned, or what is derived where nothing was. Nothing is claimed of what hangs on a wrong answer.

        Other results are divided by the answer, which is exact if it is a power of two. Code may divide by what it rounded to
        this answer, too: by another number, or by its reciprocal. These are exact if that number is the same power of two.
        It is A / qmax, where A has at most 24 bits and qmax 16: unless it is a power of two, it lies 2^-24 or more away from any,
        relatively, so that its value in float64 is one only if it is.
        """
        found = _answers.get().get(name)
        if found is None or found.shape != self.value.shape:
            return self.at(self.value, self.error)  # type: ignore[attr-defined]
        valid = np.isfinite(found) & (found >= least)
        is_rounded_to_power = (np.abs(np.frexp(found)[0]) == 0.5) & (found != self.value)
        units = np.expm1(roundings * np.log1p(self.arithmetic.compute.u))
        error = np.where(is_rounded_to_power, units * np.abs(found), 0.0)
        return self.at(np.where(valid, found, self.value), np.where(valid, error, np.inf))  # type: ignore[attr-defined]
