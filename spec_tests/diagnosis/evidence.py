"""The calls that a diagnosis has to go by: those answered wrongly, and those answered rightly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..bounds.expectation import Expectation
from ..calls.call import Call


def wrong_and_right(failing: Sequence[Call], others: Sequence[Call]) -> tuple[list[Call], list[Call]]:
    """The calls whose answers are wrong, and those whose are right, of one operation, the smallest first. In other dtypes there
    may be other bugs, but this one would show there too: their right answers count, and their wrong ones do not."""
    about = {call.operation.name for call in failing}
    others = [call for call in others if call not in failing and call.operation.name in about]
    known = [call for call in sorted([*failing, *others], key=lambda call: call.size) if _known(call)]
    dtypes = {call.operation.dtype for call in failing}
    wrong = [call for call in known if call.operation.dtype in dtypes and np.any(wrong_in(call))]
    same = [call for call in known if wrong and call.operation.name == wrong[0].operation.name]
    return [call for call in same if call in wrong], [call for call in same if not np.any(wrong_in(call))]


def _known(call: Call) -> bool:
    """Both have an answer; where the oracle leaves one to the conventions, as to causality of a rectangle, it raises."""
    if call.observed is None or call.inexact:
        return False
    try:
        truth_of(call)
    except ValueError:
        return False
    return True


def answer_of(call: Call) -> np.ndarray:
    return np.asarray(call.observed, dtype=np.float64)  # masks too


def truth_of(call: Call) -> Expectation:
    return call.expectation(call.operation.precision)


def wrong_in(call: Call) -> np.ndarray:
    return np.asarray(~truth_of(call).accepts(answer_of(call)))
