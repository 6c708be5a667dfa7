"""The calls that a diagnosis rests on: those that the backend answered wrongly, and those that it answered rightly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..bounds.expectation import Expectation
from ..calls.call import Call
from ..calls.ranks import list_ranks, represent


@dataclass(frozen=True)
class Evidence:
    """Calls of one operation, the smallest first. A failure gathers them once, and every explanation is tested on them.

    A call that ranks have answered otherwise stands there with the answer of the first rank that is wrong.
    """

    wrong: list[Call]
    right: list[Call]
    failing: tuple[Call, ...] = ()  # the wrong ones of the failing example; others may be wrong for another reason

    @classmethod
    def gather(
        cls,
        failing: Sequence[Call],
        others: Sequence[Call] = (),
        is_known: Callable[[Call], bool] = lambda call: False,
        is_late: Callable[[], bool] = lambda: False,
    ) -> Evidence:
        """Sort the calls of the failing example, and other calls that were answered, into wrong and right ones.

        Calls in other dtypes may be wrong because of another bug, so that their wrong answers are left out. Their right answers
        count: the bug that explains this failure would show there too. Wrong answers that a known cause explains are left out.
        Once `is_late` returns True, no other call is judged.
        """
        failing = [represent(call, has_wrong_elements) for call in failing]
        operations = {call.operation.name for call in failing}
        seen = [rank for call in failing for rank in list_ranks(call)]
        others = [call for call in others if call not in seen and call.operation.name in operations]
        judged = [call for call in failing if is_comparable(call)]
        for call in sorted(others, key=lambda call: call.size):
            if not is_late() and is_comparable(call):
                wrong_in(call)
                judged.append(represent(call, has_wrong_elements))
        comparable = sorted(judged, key=lambda call: call.size)
        dtypes = {call.operation.dtype for call in failing}
        wrong = [call for call in comparable if call.operation.dtype in dtypes and np.any(wrong_in(call)) and not is_known(call)]
        same_operation = [call for call in comparable if wrong and call.operation.name == wrong[0].operation.name]
        right = [call for call in same_operation if not np.any(wrong_in(call))]
        wrong = [call for call in same_operation if call in wrong]
        return cls(wrong, right, tuple(call for call in wrong if call in failing))


def is_wrong(call: Call) -> bool:
    """Whether the answer of a call is wrong by itself, on some rank: an element of it lies outside the error bound."""
    return any(map(has_wrong_elements, list_ranks(call)))


def has_wrong_elements(call: Call) -> bool:
    """Whether an element of the answer of this rank lies outside the error bound."""
    return is_comparable(call) and bool(np.any(wrong_in(call)))


def wrong_on_any_rank(call: Call) -> np.ndarray:
    """Return which elements of the result are wrong on some rank."""
    return np.logical_or.reduce([wrong_in(each) for each in list_ranks(call)])


def is_comparable(call: Call) -> bool:
    """Whether both the backend and the oracle have an answer. The oracle has none where a convention decides (it raises)."""
    if call.observed is None or call.inexact:
        return False
    try:
        truth_of(call)
    except ValueError:
        return False
    return True


def answer_of(call: Call) -> np.ndarray:
    """Return the backend's answer as float64; a mask too."""
    return np.asarray(call.observed, dtype=np.float64)


def truth_of(call: Call) -> Expectation:
    """Return the oracle's value with its error bound."""
    return call.expectation(call.operation.precision)


def wrong_in(call: Call) -> np.ndarray:
    """Return which elements of the answer are wrong. What was found is kept with the call."""
    key = "wrong", call.operation.precision
    if key not in call.deviation_results:
        call.deviation_results[key] = np.asarray(~truth_of(call).accepts(answer_of(call)))
    return np.asarray(call.deviation_results[key])


def contradicts_a_rank(predicts: Callable[[Call], bool | None], evidence: Evidence) -> bool:
    """Whether the answer of some rank is another than is predicted of it. What is said of a call has to hold on every rank."""
    calls = (call for call in (*evidence.wrong, *evidence.right) if len(list_ranks(call)) > 1)
    return any(predicts(each) is False for call in calls for each in list_ranks(call))
