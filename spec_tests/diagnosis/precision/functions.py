"""Wrong answers of which so many bits are right everywhere: a function is approximated, as by a short polynomial or a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np

from ...calls.call import Call
from ..evidence import Evidence, answer_of, truth_of, wrong_in
from ..explanation import Explanation

ASKED_CALLS = 32  # as laws draw them, on which the number of bits is tested
MIN_BITS = 6  # fewer are another function
MIN_LOST_BITS = 3  # fewer may be the arithmetic
MIN_ELEMENTS = 64  # wrong ones, to speak of everywhere
MIN_SHARE = 0.25  # of the wrong elements that lose nearly as many bits as the worst
NEARLY = 3  # bits
MIN_WRONG_CALLS = 0.5  # of those with an answer other than 0: where fewer are wrong, it is not everywhere


def find_approximate_function(
    evidence: Evidence, ask: Callable[[], Iterable[Call]], is_late: Callable[[], bool]
) -> Explanation | None:
    """Return how many bits of all answers are right, None if the number differs too much from call to call.

    The errors of a wrong number, such as a factor, have one sign. Those of an approximation have both, or differ in size.
    Where many answers of the same size are as near as rounding allows, the error is not everywhere: a region says where.
    """
    if not evidence.wrong or not (known := _list_errors(evidence.wrong)).size:
        return None
    calls = [*evidence.wrong, *evidence.right, *islice((call for call in ask() if not is_late()), ASKED_CALLS)]
    dtype, name = evidence.wrong[0].operation.dtype, evidence.wrong[0].operation.name
    own = [call for call in calls if call.operation.dtype == dtype and call.observed is not None and not call.inexact]
    errors = _list_errors(own)
    precision = evidence.wrong[0].operation.storage.precision
    if is_late() or errors.size < MIN_ELEMENTS or not np.all(np.isfinite(errors)):
        return None
    bits = _count_bits(np.max(np.abs(errors)))
    least = _count_bits(np.max(np.abs(known)))
    if bits < MIN_BITS or precision - bits < MIN_LOST_BITS or abs(bits - least) > 1:
        return None
    if np.mean([wrong_in(call).any() for call in own if np.any(truth_of(call).value)]) < MIN_WRONG_CALLS:
        return None
    large = np.abs(errors) >= 2.0 ** -(bits + NEARLY)
    both = min(np.sum(errors[large] > 0), np.sum(errors[large] < 0))
    spread = len(np.unique(np.round(np.log2(np.abs(errors[large])))))
    if np.mean(large) < MIN_SHARE or (both == 0 and spread < NEARLY) or _is_partial(own):
        return None

    def predicts(call: Call) -> bool | None:
        if call.operation.name != name or call.operation.dtype != dtype:
            return None
        found = _list_errors([call])
        return bool(np.all(np.abs(found) < 2.0 ** (1 - bits)))

    what = f"about {bits} of {precision} bits are right everywhere: an approximate function"
    return Explanation("near miss", "so many bits", what, name, predicts)


def _is_partial(calls: Sequence[Call]) -> bool:
    """Whether a large share of the answers, among those as large as wrong ones are, is rounded and right.

    Answers that are the nearest number do not count: an approximation is exact at some points.
    """
    of_wrong = np.concatenate([np.abs(truth_of(call).value[wrong_in(call)]) for call in calls])
    low, high = np.quantile(of_wrong, [0.1, 0.9])
    right = compared = 0
    for call in calls:
        value, wrong = truth_of(call).value, wrong_in(call)
        nearest = call.operation.storage.round(np.asarray(value, dtype=np.float64))
        alike = (np.abs(value) >= low) & (np.abs(value) <= high)
        compared += int(np.sum(alike))
        right += int(np.sum(alike & ~wrong & (answer_of(call) != nearest)))
    return right >= MIN_ELEMENTS and right >= MIN_SHARE * compared


def _count_bits(error: float) -> int:
    """Return how many bits are right where the relative error is so large."""
    return int(np.floor(-np.log2(error))) if error > 0 else 64


def _list_errors(calls: Sequence[Call]) -> np.ndarray:
    """Return the relative errors of all wrong elements. An answer that is no number has an infinite one."""
    found = [np.empty(0)]
    for call in calls:
        value, answer, wrong = truth_of(call).value, answer_of(call), wrong_in(call)
        if not wrong.any():
            continue
        with np.errstate(all="ignore"):
            relative = (answer - value) / value
        found.append(np.nan_to_num(relative[wrong], nan=np.inf, posinf=np.inf, neginf=-np.inf))
    return np.concatenate(found)
