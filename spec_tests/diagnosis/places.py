"""Where the wrong elements of a result lie in its memory: the last ones after whole blocks, or those from one place on.

Kernels compute a result as one row of elements: vectors of it, and the part of it that one program of a grid computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ..calls.call import Call
from ..calls.given import PLAIN
from .evidence import Evidence, answer_of, is_wrong, truth_of, wrong_in
from .explanation import Explanation

BLOCKS = (2, 4, 8, 16, 32, 64, 128, 256)  # elements of a vector, or of the part of a result that one program computes
ASKED_CALLS = 48  # as laws draw them, on which a place is tested
MIN_CALLS = 3  # with wrong elements, and as many without, of different sizes
MIN_SIZES = 6  # of results, to name the size of the blocks after which elements are never written
MIN_ELEMENTS = 16  # wrong ones from a first one on: fewer may be every second or third of them
STRICT_SHARE = 0.9  # of the elements at the place: values hide an error seldom

Places = tuple[np.ndarray, tuple[int, ...]]  # which elements, flat, and the shape of the result


@dataclass(frozen=True)
class Place:
    """Elements of a result, by their index in its memory: after whole blocks, or from a first one on."""

    block: int = 0
    first: int = 0

    def holds(self, size: int, copies: int = 1, copy: int = 0) -> np.ndarray:
        """Return which elements of a result of so many lie there. It may be one of several copies that lie one after another."""
        start = copies * size // self.block * self.block if self.block else self.first
        return copy * size + np.arange(size) >= start

    @property
    def words(self) -> str:
        if self.block:
            return f"the last elements of the result in memory, after whole blocks of {self.block},"
        return f"elements of the result from the {format_ordinal(self.first)} on in memory, counted from 0,"


def find_place(evidence: Evidence, ask: Callable[[], Iterable[Call]], is_late: Callable[[], bool]) -> Explanation | None:
    """Return the place in memory that holds all wrong elements and hardly a right one, None if no further call speaks for one.

    ask: answers further calls of the operation.
    """
    known = [call for call in (*evidence.wrong, *evidence.right) if _has_places(call) and call.given == PLAIN]
    if is_late() or len(known) < len(evidence.wrong) + len(evidence.right) or not _list_fitting(known):
        return None
    known += [call for call in islice(ask(), ASKED_CALLS) if not is_late() and _has_places(call) and call.value.size]
    wrong, right = (list(filter(judge, known)) for judge in (is_wrong, lambda call: not is_wrong(call)))
    if min(_count_sizes(wrong), _count_sizes(right)) < MIN_CALLS or not _tells_rows(wrong):
        return None
    for place in _list_fitting(known):
        if _count_sizes([call for call in wrong if not place.holds(call.value.size)[0]]) < MIN_CALLS:
            continue  # in nearly all wrong answers every element is wrong
        kind = f"place {place.block} {place.first}"
        what = f"{place.words} are wrong, and no others{_say_value(place, wrong)}"

        def predicts(call: Call, place: Place = place) -> bool | None:
            if call.operation.name != wrong[0].operation.name or not _has_places(call):
                return None
            found, there = np.ravel(wrong_in(call)), place.holds(call.value.size, call.given.copies, call.given.copy)
            return bool(found.any() and not np.any(found & ~there))

        return Explanation("region", kind, what, wrong[0].operation.name, predicts)
    return None


def _list_fitting(calls: Sequence[Call]) -> list[Place]:
    """Return the places that hold all wrong elements of calls, and hardly a right one; the smallest block first."""
    found = [(np.ravel(wrong_in(call)), np.ravel(truth_of(call).claimed & _tells(call))) for call in calls]
    firsts = [int(np.argmax(wrong)) for wrong, _ in found if wrong.any()]
    places = [*(Place(block=block) for block in BLOCKS), *(Place(first=first) for first in {min(firsts)} if first)]
    return [place for place in places if _fits(place, found)]


def _fits(place: Place, found: Sequence[tuple[np.ndarray, np.ndarray]]) -> bool:
    inside, failed = 0, 0
    for wrong, claimed in found:
        there = place.holds(wrong.size)
        if np.any(wrong & ~there):
            return False
        inside, failed = inside + int(np.sum(there & claimed)), failed + int(np.sum(wrong & claimed))
    return failed >= max(STRICT_SHARE * inside, 0 if place.block else MIN_ELEMENTS)


def _tells(call: Call) -> np.ndarray:
    """Return which elements of an answer show that they are wrong: none of those that repeat, none that may be 0."""
    value = np.ravel(call.value).astype(np.float64)
    varies = value.size == 0 or 2 * len(np.unique(value)) > value.size
    return np.reshape(varies & ~truth_of(call).accepts(np.zeros(call.value.shape)).ravel(), call.value.shape)


def _has_places(call: Call) -> bool:
    """Whether the answer is one array, which can be compared."""
    is_one_array = call.parts is None and not call.operation.spec.is_gradient
    return is_one_array and call.observed is not None and not call.inexact


def _count_sizes(calls: Sequence[Call]) -> int:
    return len({call.value.size for call in calls})


def _tells_rows(wrong: Sequence[Call]) -> bool:
    """Whether some result has wrong elements and several rows, so that no place in a row can be meant."""
    return any(call.value.ndim > 1 and call.value.shape[-1] < call.value.size for call in wrong)


def _say_value(place: Place, wrong: Sequence[Call]) -> str:
    """Return what each wrong element is, if all are one value."""
    values = np.unique(np.concatenate([np.ravel(answer_of(call))[np.ravel(wrong_in(call))] for call in wrong]))
    return f": each is {values[0]:g}" if len(values) == 1 else ""


def format_ordinal(number: int) -> str:
    """Return 32nd for 32."""
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


# --- elements that were never written -------------------------------------------------------------------------------------


def describe_places(found: Sequence[Places]) -> str:
    """Return which elements of results these are, with the verb: "some" if no other words hold of each result.

    Results of few sizes may agree with smaller blocks than those that are used.
    """
    for block in BLOCKS:
        if found and all(np.array_equal(which, Place(block=block).holds(which.size)) for which, _ in found):
            after = f", after whole blocks of {block}," if len(found) >= MIN_SIZES else ""
            return f"the last elements of the result in memory{after} are"
        if found and all(shape and np.array_equal(which.reshape(shape), _last_of_rows(shape, block)) for which, shape in found):
            after = f", after whole blocks of {block}," if len({shape[-1] for _, shape in found}) >= MIN_SIZES else ""
            return f"the last elements of each row of the result{after} are"
    if found and all(shape and np.array_equal(which.reshape(-1, shape[-1]), _last_row(shape)) for which, shape in found):
        return "the last row of the result is"
    return "some elements of the result are"


def _last_of_rows(shape: tuple[int, ...], block: int) -> np.ndarray:
    return np.broadcast_to(Place(block=block).holds(shape[-1]), shape)


def _last_row(shape: tuple[int, ...]) -> np.ndarray:
    rows = int(np.prod(shape[:-1]))
    return np.broadcast_to(np.arange(rows)[:, None] == rows - 1, (rows, shape[-1]))
