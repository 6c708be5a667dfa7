"""The matrix that code applies to an argument in which its operation is linear, read with one-hot values of that argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...calls.call import Call
from ...specification.work import Budget
from ..evidence import answer_of
from ..result_parts import split_parts

MAX_ENTRIES = 256  # of an argument that are asked for one by one
AnswerInstead = Callable[[Call, dict[str, Any]], "Call | None"]
"""Answers a call with other values of some arguments, in the same layout; None if there is no answer."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """The coefficients with which a result depends on an argument: those that the code used, and the right ones.

    The axes are those of the result, then those of the argument. Of a large argument the last axis has its first entry alone.
    """

    argument: str
    part: str
    used: np.ndarray
    right: np.ndarray
    rank: int  # how many axes the result has
    unit_roundoff: float


def read_matrices(call: Call, answer: AnswerInstead, budget: Budget) -> Iterator[Matrix]:
    """Yield the matrices of a call in each argument in which its operation is linear, until the budget is spent.

    Nothing is yielded of a call whose answer is another one when it is made again, of an argument in which the answers are not
    linear, and of arguments that are not finite.
    """
    again = answer(call, {})
    if again is None or not np.array_equal(answer_of(again), answer_of(call), equal_nan=True):
        return
    for argument in list_linear(call):
        if budget.is_spent():
            return
        yield from _read(call, argument, answer, budget)


def list_linear(call: Call) -> list[str]:
    """Return the arrays among the arguments of a call in which its operation is linear, but for a constant."""
    spec = call.operation.spec
    names = ("cotangent",) if spec.is_gradient else spec.declaration.linear
    given = (name for name in names if isinstance(call.named.get(name), np.ndarray))
    return [name for name in given if call.named[name].size and np.isfinite(call.named[name]).all()]


def count_questions(call: Call) -> int:
    """Return how many entries are asked for one by one to read the matrices of a call."""
    return sum(_keep(np.asarray(call.named[argument])).size for argument in list_linear(call))


def _keep(x: np.ndarray) -> np.ndarray:
    """Return the entries that are asked for: of a large array the first ones of the last axis."""
    return x if x.size <= MAX_ENTRIES else x[..., :1]


def _read(call: Call, argument: str, answer: AnswerInstead, budget: Budget) -> Iterator[Matrix]:
    given = np.asarray(call.named[argument], dtype=float)
    kept = _keep(given)
    if kept.size > MAX_ENTRIES:
        return
    zero = answer(call, {argument: np.zeros_like(given)})
    if zero is None:
        return
    used, right = [], []
    for index in np.ndindex(kept.shape):
        if budget.is_spent():
            return
        one = np.zeros_like(given)
        one[index] = 1.0
        told = answer(call, {argument: one})
        if told is None:
            return
        used.append(_subtract(answer_of(told), answer_of(zero)))
        right.append(_subtract(told.value, zero.value))
    columns, true = np.stack(used, axis=-1), np.stack(right, axis=-1)
    if not (np.isfinite(columns).all() and np.isfinite(true).all()):
        return
    roundoff = float(np.max(call.operation.storage.u))
    if kept is given and not _is_linear(columns @ given.ravel(), _subtract(answer_of(call), answer_of(zero)), roundoff):
        return
    parts = split_parts(call, np.arange(call.value.size).reshape(call.value.shape))
    rows, right_rows = columns.reshape(-1, kept.size), true.reshape(-1, kept.size)
    for part, places in parts.items():
        shape = (*places.shape, *kept.shape)
        path = part if call.operation.spec.is_gradient or call.operation.spec.has_several_results else ""
        yield Matrix(argument, path, _pick(rows, places, shape), _pick(right_rows, places, shape), places.ndim, roundoff)


def _subtract(x: Any, y: Any) -> np.ndarray:
    """Return a difference, which is NaN where both are the same infinity."""
    with np.errstate(all="ignore"):
        return np.asarray(x, dtype=float) - np.asarray(y, dtype=float)


def _pick(rows: np.ndarray, places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(rows[places.ravel()].reshape(shape))


def _is_linear(sums: np.ndarray, answer: np.ndarray, roundoff: float) -> bool:
    """Whether an answer is about the sum of those to the entries: what is read only suggests equations, which are judged."""
    with np.errstate(all="ignore"):
        far = np.abs(sums - answer)
        scale = max(float(np.abs(sums).max(initial=0.0)), float(np.abs(answer).max(initial=0.0)))
    return bool(np.isfinite(far).all() and far.max(initial=0.0) <= 4 * np.sqrt(roundoff) * scale)
