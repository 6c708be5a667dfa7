"""Near misses: the right equation, but in a looser precision class, in float32, or for another option than was given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..bounds.expectation import Expectation
from ..calls.call import Call
from ..specification.formats import FORMATS, PRECISIONS, Arithmetic
from .evidence import Evidence, answer_of, wrong_in

MIN_FLOAT32_SHARE = 1 / 64  # of the float32 bound; among many elements one comes that near to the worst case
MIN_WRONG_ANSWERS = 2  # one answer may fit another option by chance
MAX_SHOWN_VALUES = 3
LOOSER = {"mixed": "some of its intermediate results", "eager": "its intermediate results"}


@dataclass(frozen=True)
class NearMiss:
    """A near miss, described as a deviation is."""

    id: str
    what: str
    facts: tuple[tuple[str, str], ...] = ()  # of this failure only


def near_miss(evidence: Evidence) -> NearMiss | None:
    """Return the first near miss that explains every wrong answer."""
    if looser := looser_class(evidence):
        dtype = evidence.wrong[0].operation.dtype
        return NearMiss(f"class {looser}", f"the right equation, {LOOSER[looser]} rounded to {dtype}")
    if in_float32(evidence):
        return NearMiss("float64 in float32", "the right equation, all or some of it computed in float32")
    if found := another_option(evidence):
        option, values = found
        several = " or ".join([str(value) for value in values[:MAX_SHOWN_VALUES]] + ["others"] * (len(values) > MAX_SHOWN_VALUES))
        return NearMiss(f"another {option}", f"the right answer for another {option} than was given", ((option, several),))
    return None


def looser_class(evidence: Evidence) -> str:
    """Return the strictest precision class in which the right equation explains every wrong answer, "" if there is none."""
    wrong = evidence.wrong
    if not wrong or wrong[0].operation.precision == "exact" or wrong[0].operation.storage.precision >= 24:
        return ""
    stricter = PRECISIONS.index(wrong[0].operation.precision) + 1
    for precision in PRECISIONS[stricter:]:
        claimed = wrong[0].expectation(precision).claimed[wrong_in(wrong[0])]
        if np.all(claimed) and all(np.all(call.expectation(precision).accepts(answer_of(call))) for call in wrong):
            return precision
    return ""


def in_float32(evidence: Evidence) -> bool:
    """Whether float64 answers are those of the right equation with some or all of its steps in float32.

    Every wrong answer must lie within the float32 bound, and at least one must be as far off as float32 roundings put it.
    """
    wrong = evidence.wrong
    if not wrong or wrong[0].operation.dtype != "float64":
        return False
    expected = [(call, _expect_in_float32(call)) for call in wrong]
    if not all(np.all(expectation.accepts(answer_of(call))) for call, expectation in expected):
        return False
    with np.errstate(all="ignore"):
        shares = [
            (np.abs(answer_of(call) - expectation.value) / expectation.error)[wrong_in(call)] for call, expectation in expected
        ]
    return bool(max(np.max(np.nan_to_num(share, nan=0.0)) for share in shares) >= MIN_FLOAT32_SHARE)


def _expect_in_float32(call: Call) -> Expectation:
    """Return the value and bound of the right equation with every step, and perhaps each argument, rounded to float32."""
    single = FORMATS["float32"]
    arithmetic = Arithmetic(single, single)

    def round_input(x: Any) -> Bounded:
        unrounded = Bounded.input(x, arithmetic)
        nearest = single.round(x)
        return unrounded.at(x, np.maximum(unrounded.error, np.where(nearest == x, 0.0, np.abs(nearest - x))))

    with np.errstate(all="ignore"):
        ball = call.evaluate(round_input)
    return Expectation(ball.value, ball.error, single)


def another_option(evidence: Evidence) -> tuple[str, list[Any]] | None:
    """Return an option and the values of it for which every wrong answer is right: a fixed value, or that of an earlier call."""
    wrong, right = evidence.wrong, evidence.right
    if len(wrong) < MIN_WRONG_ANSWERS:
        return None
    spec = wrong[0].operation.spec
    for option in (name for name in wrong[0].keywords if name not in (*spec.positional, "wrt")):
        values = list(_drop_duplicates([spec.defaults.get(option), *(call.keywords.get(option) for call in (*wrong, *right))]))
        used = []
        for call in wrong:
            if not (fitting := [value for value in values if _is_right_for(call, option, value)]):
                break
            used.append(fitting[0])
        else:
            return option, list(_drop_duplicates(used))
    return None


def _drop_duplicates(values: Iterable[Any]) -> Iterable[Any]:
    return {repr(value): value for value in values}.values()  # by repr, since True == 1


def _is_right_for(call: Call, option: str, value: Any) -> bool:
    """Whether the answer is right for this value of the option, which is not the value that was given."""
    if repr(value) == repr(call.keywords.get(option)):
        return False
    instead = Call(call.operation, call.arguments, {**call.keywords, option: value})
    try:
        allowed = instead.expectation(call.operation.precision)
    except Exception:
        return False  # the equation does not take these arguments
    answer = answer_of(call)
    return allowed.value.shape == answer.shape and bool(np.all(allowed.accepts(answer) & (allowed.claimed | ~wrong_in(call))))
