"""Find out whether a backend returns memory that it has not written to: free memory is filled with marks, which then show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.recorder import Recorder
from ..calls.violation import NotImplementedVariant, Violation
from ..diagnosis.evidence import is_wrong
from ..implementation.framework import CannotMakeArray, Framework

MARKS = (-7.25, 11.5)  # which every floating dtype holds, and which one answer has only where it is left as it was
ARRAYS = 16  # of the shape of the result, of which every second one is freed before the call
TRIES = 3
MAX_ELEMENTS = 2**20  # of the answer, since there are many marked arrays
MOST = 0.9  # of the elements: the ends of a block that was freed hold what the allocator writes there


def find_unwritten(calls: Sequence[Call]) -> str:
    """Return the sentence that the answer is not written, "" if the marks do not show in it.

    The largest wrong answer is made again: small arrays are seldom given the memory that was freed last. An element counts if
    it shows each of the marks, so that a value that happens to be one of them does not.
    """
    own = calls[0].operation
    if own.spec.is_gradient or not isinstance(own.backend.framework, Framework):  # another process has memory of its own
        return ""
    wrong = [call for call in calls if call.operation == own and call.value.size <= MAX_ELEMENTS and is_wrong(call)]
    call = max(wrong, key=lambda call: call.value.size, default=None)
    if call is None or not call.value.size:
        return ""
    shown = np.ones(call.value.size, dtype=bool)
    for mark in MARKS:
        seen = np.zeros(call.value.size, dtype=bool)
        for _ in range(TRIES):
            answer = _answer_from_marked_memory(call, mark)
            seen |= False if answer is None else np.ravel(answer) == mark
        shown &= seen
    if shown.mean() < MOST:
        return ""
    return "it returns memory that nothing was written to: the answer depends on nothing that was passed"


def _answer_from_marked_memory(call: Call, mark: float) -> np.ndarray | None:
    """Return the answer to a call that finds the mark in free memory, None if there is no answer."""
    own: Any = call.operation
    operation = replace(own, recorder=Recorder())
    again = Call(operation, call.arguments, call.keywords)
    try:
        native = operation.native(again)
        marked = [operation.backend.framework.native(np.full(call.value.shape, mark), operation.dtype) * 1 for _ in range(ARRAYS)]
        del marked[::2]
        return np.asarray(operation.values(again, operation.run(again, native)), dtype=np.float64)
    except (Violation, NotImplementedVariant, CannotMakeArray):
        return None
