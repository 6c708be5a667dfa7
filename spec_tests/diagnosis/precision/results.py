"""Wrong answers that are all numbers of a narrower format, and right within that format: everything is computed in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice

import numpy as np

from ...bounds.derivation import expect
from ...calls.call import Call
from ...specification.formats import FORMATS, Arithmetic, Format, is_floating
from ...specification.pytree import tree_map
from ..evidence import Evidence, answer_of, wrong_in
from ..explanation import Explanation
from ..further_calls import Ask

NARROWER = ("bfloat16", "float16")
MIN_ELEMENTS = 8  # in all wrong calls: few numbers of a wider format are numbers of a narrower one
ASKED_CALLS = 32


def find_narrow_results(evidence: Evidence, ask: Ask, is_late: Callable[[], bool]) -> Explanation | None:
    """Return the explanation of wrong answers in a wider dtype by computing in 16 bits, None if it does not hold.

    Every answer must be a number of that format, and the right one within the bound of code that rounds each step to it.
    """
    wrong = evidence.wrong
    if not wrong or wrong[0].operation.precision == "exact":
        return None
    operation = wrong[0].operation
    for name in NARROWER:
        narrow = FORMATS[name]
        if operation.storage.precision <= narrow.precision or sum(_count_telling(call, narrow) for call in wrong) < MIN_ELEMENTS:
            continue
        if all(not is_late() and _allows(call, narrow) for call in (*wrong, *evidence.right, *islice(ask(), ASKED_CALLS))):
            what = f"the right equation, computed in {name}: every result is a number of that format"
            return Explanation(
                "near miss", f"computed in {name}", what, operation.name, partial(_predicts, operation.name, narrow)
            )
    return None


def _predicts(operation: str, narrow: Format, call: Call) -> bool | None:
    """Whether the answer of a call is right if everything is rounded to the format."""
    if call.operation.name != operation or call.operation.storage.precision <= narrow.precision:
        return None
    return _allows(call, narrow)


def _count_telling(call: Call, narrow: Format) -> int:
    """Return how many wrong elements are numbers of the format though the right values are none; 0 if some are none."""
    wrong, answer, value = wrong_in(call), answer_of(call), np.asarray(call.value, dtype=np.float64)
    if not np.array_equal(narrow.round(answer[wrong]), answer[wrong], equal_nan=True):
        return 0
    return int(np.sum(wrong & np.isfinite(answer) & (narrow.round(value) != value)))


def _allows(call: Call, narrow: Format) -> bool:
    """Whether the answer is one that rounding of each step to the format may give."""
    if call.observed is None or call.operation.storage.precision <= narrow.precision:
        return True
    answer = answer_of(call)
    if not np.array_equal(narrow.round(answer), answer, equal_nan=True):
        return False
    return any(_is_within(call, narrow, asked) for asked in _list_roundings(call, narrow))


def _list_roundings(call: Call, narrow: Format) -> Iterator[Call]:
    """Yield the call as it is, and with arguments that are rounded to the format."""
    yield Call(call.operation, call.arguments, call.keywords)
    with np.errstate(all="ignore"):
        rounded = tree_map(lambda x: narrow.round(x) if is_floating(x) else x, (call.arguments, call.keywords))
    yield Call(call.operation, *rounded)


def _is_within(call: Call, narrow: Format, asked: Call) -> bool:
    """Whether the answer lies within the bound of the other call's equation if every step and partial sum is rounded."""
    with suppress(Exception), np.errstate(all="ignore"):  # some equations are not sampled
        allowed = expect(asked.evaluate, Arithmetic(narrow, narrow, "eager"), narrow, sampled=True)
        return allowed.accepts_all(answer_of(call))
    return False
