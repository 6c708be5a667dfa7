"""Find out what an answer has of memory that nothing was written to: free memory is filled, and what it held then shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np

from ..calls.call import Call
from ..diagnosis.evidence import truth_of
from ..diagnosis.places import describe_places
from ..implementation.framework import Framework
from ..implementation.free_memory import can_fill_with_nan, filled_with_nan, mark_free_memory
from .repeated_call import RepeatedCall

MARKS = (-7.25, 11.5)  # which every floating dtype holds, and which one answer has only where it is left as it was
TRIES = 4
ROUNDS = 4  # of so many tries each, until the answers say more than that they depend on free memory
MAX_CALLS = 3
MAX_ELEMENTS = 2**20  # of the answer, since there are many marked arrays
MAX_SIZES = 12  # of results in which elements are looked for that are never written
NOTHING_WRITTEN, SOME_UNWRITTEN, ADDED, READ = range(4)  # faults, the one of which most is known first
SENTENCES = MappingProxyType(
    {
        NOTHING_WRITTEN: "it returns memory that nothing was written to: the answer depends on nothing that was passed",
        ADDED: "the result is added to what free memory held: memory is not set to 0 before sums are added to it",
        READ: "the answer depends on what free memory holds: memory is read that nothing was written to",
    }
)
MOST = 0.9  # of the elements: the ends of a block that was freed hold what the allocator writes there


def find_memory_fault(wrong: Sequence[Call], right: Sequence[Call], framework: Framework) -> str:
    """Return the sentence about memory that nothing was written to, "" if the answers to wrong calls do not depend on it.

    Large calls are made again first: small arrays are seldom given the memory that was freed last. Where a call writes a part of
    its result, those that write nothing have none of this part.
    """
    small, others = ([call for call in calls if 0 < call.value.size <= MAX_ELEMENTS] for calls in (wrong, right))
    best = sorted(small, key=lambda call: -int(np.sum(_tells_sums(call))))[:MAX_CALLS]
    found = {fault for call in best if (fault := _find_fault(RepeatedCall(call), framework)) is not None}
    if NOTHING_WRITTEN in found and (SOME_UNWRITTEN in found or _writes_some(others, framework)):
        found = {SOME_UNWRITTEN}
    if not found or min(found) != SOME_UNWRITTEN:
        return SENTENCES[min(found)] if found else ""
    of_each_size = list({call.value.size: call for call in (*others, *small)}.values())[-MAX_SIZES:]
    dependent = [(_find_dependent(RepeatedCall(call), framework), call.value.shape) for call in of_each_size]
    places = [(which, shape) for which, shape in dependent if which is not None]
    return f"{describe_places(places)} never written: what is there is what free memory held"


def _writes_some(calls: Sequence[Call], framework: Framework) -> bool:
    """Whether one of the calls writes an element of its result. Only PyTorch can fill all new memory, which shows it."""
    if not can_fill_with_nan(framework):
        return False
    large = sorted({call.value.size: call for call in calls}.values(), key=lambda call: -call.value.size)
    seen = (_find_dependent(RepeatedCall(call), framework) for call in large[:MAX_CALLS])
    return any(dependent is not None and not dependent.all() for dependent in seen)


def _find_fault(call: RepeatedCall, framework: Framework) -> int | None:
    """Return the fault that fits the call, None if the answer does not depend on free memory.

    What PyTorch fills with NaN shows which elements depend on it. Where a framework cannot do that, the marks alone must show.
    """
    answers: dict[float, list[np.ndarray]] = {mark: [] for mark in MARKS}
    for _ in range(ROUNDS):  # a call is not always given the memory that was marked
        more = {mark: _answer_from_marked_memory(call, framework, mark) for mark in MARKS}
        if any(len(found) < TRIES for found in more.values()):
            return None
        answers = {mark: [*found, *more[mark]] for mark, found in answers.items()}
        if (fault := _tell_fault(call, framework, answers)) != READ:
            return fault
    return READ


def _tell_fault(call: RepeatedCall, framework: Framework, answers: dict[float, list[np.ndarray]]) -> int | None:
    held, tells = _seen_in_each(answers, lambda answer, mark: answer == mark), _tells_sums(call.call)
    if tells.any() and held[tells].mean() >= MOST:
        return NOTHING_WRITTEN
    dependent = _find_dependent(call, framework) if can_fill_with_nan(framework) else None
    if dependent is None or not _varies(answers, dependent):
        return None
    if (held & dependent & tells).any():
        return SOME_UNWRITTEN
    truth, half = np.ravel(truth_of(call.call).value), 2.0 ** -(call.operation.storage.precision // 2)
    if (_seen_in_each(answers, partial(_is_added, truth, half)) & dependent & tells).any():
        return ADDED
    return READ


def _answer_from_marked_memory(call: RepeatedCall, framework: Framework, mark: float) -> list[np.ndarray]:
    """Return answers of calls that find the mark in free memory."""
    found = []
    for _ in range(TRIES):
        if (native := call.make_arguments()) is None:
            break
        kept = mark_free_memory(framework, call.operation.dtype, call.call.value.size, mark)
        answer = call.answer(native)
        del kept
        if answer is None:
            break
        found.append(np.ravel(answer))
    return found


def _seen_in_each(answers: dict[float, list[np.ndarray]], shows: Callable[[np.ndarray, float], np.ndarray]) -> np.ndarray:
    """Return which elements show each of the marks in some answer."""
    seen = [np.any([shows(answer, mark) for answer in found], axis=0) for mark, found in answers.items()]
    return np.asarray(np.logical_and.reduce(seen))


def _tells_sums(call: Call) -> np.ndarray:
    """Return which elements differ if they are a mark, and if a mark is added to them."""
    truth, storage = np.asarray(truth_of(call).value, dtype=np.float64), call.storage
    with np.errstate(all="ignore"):
        return np.ravel(np.logical_and.reduce([storage.round(np.ravel(truth) + mark) != mark for mark in MARKS]))


def _is_added(truth: np.ndarray, half: float, answer: np.ndarray, mark: float) -> np.ndarray:
    """Return where an answer is the truth plus the mark, in half of its digits."""
    with np.errstate(all="ignore"):
        return np.asarray(np.abs(answer - truth - mark) <= half * abs(mark))


def _find_dependent(call: RepeatedCall, framework: Framework) -> np.ndarray | None:
    """Return which elements become NaN where new memory is full of NaN, None if that explains no wrong answer."""
    if (native := call.make_arguments()) is None:
        return None
    with filled_with_nan(framework):
        answer = call.answer(native)
    if answer is None:
        return None
    poisoned = np.isnan(answer) & ~np.isnan(truth_of(call.call).value)
    plain = call.call.observed
    wrong = poisoned if plain is None else call.wrong_in(np.asarray(plain, dtype=np.float64))
    return None if np.any(wrong & ~poisoned) else np.ravel(poisoned)


def _varies(answers: dict[float, list[np.ndarray]], elements: np.ndarray) -> bool:
    """Whether some of the elements change with what free memory holds, and no others do."""
    every = np.stack([answer for found in answers.values() for answer in found])
    changes = ~np.all((every == every[0]) | (np.isnan(every) & np.isnan(every[0])), axis=0)
    return bool(np.any(changes & elements))
