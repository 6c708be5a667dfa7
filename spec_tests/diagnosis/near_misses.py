"""The right equation after all, but in a looser precision class, in float32, or for another option than was given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..bounds.expectation import Expectation
from ..calls.call import Call
from ..specification.formats import FORMATS, PRECISIONS, Arithmetic
from .evidence import answer_of, wrong_and_right, wrong_in

ROUNDED = 1 / 64  # of what roundings may add up to at worst, they leave as much in one answer of many
TWICE = 2  # answers, which one may be by chance
LOOSER = {"mixed": "some of its intermediate results", "eager": "its intermediate results"}
SHOWN = 3  # values of the option


@dataclass(frozen=True)
class NearMiss:
    """What is to be said of it, in the manner of a deviation."""

    id: str
    what: str
    facts: tuple[tuple[str, str], ...] = ()  # of this failure alone


def near_miss(failing: Sequence[Call], others: Sequence[Call] = ()) -> NearMiss | None:
    """The first that explains every wrong answer."""
    if looser := looser_class(failing, others):
        dtype = failing[0].operation.dtype
        return NearMiss(f"class {looser}", f"the right equation, {LOOSER[looser]} rounded to {dtype}")
    if in_float32(failing, others):
        return NearMiss("float64 in float32", "the right equation, all or some of it computed in float32")
    if found := another_option(failing, others):
        option, values = found
        several = " or ".join([str(value) for value in values[:SHOWN]] + ["others"] * (len(values) > SHOWN))
        return NearMiss(f"another {option}", f"the right answer for another {option} than was given", ((option, several),))
    return None


def looser_class(failing: Sequence[Call], others: Sequence[Call] = ()) -> str:
    """The strictest precision class in which the right equation explains every call, where the one required does not."""
    wrong, _ = wrong_and_right(failing, others)
    if not wrong or wrong[0].operation.precision == "exact" or wrong[0].operation.storage.precision >= 24:
        return ""
    stricter = PRECISIONS.index(wrong[0].operation.precision) + 1
    for precision in PRECISIONS[stricter:]:
        known = wrong[0].expectation(precision).claimed[wrong_in(wrong[0])]
        if np.all(known) and all(np.all(call.expectation(precision).accepts(answer_of(call))) for call in wrong):
            return precision
    return ""


def in_float32(failing: Sequence[Call], others: Sequence[Call] = ()) -> bool:
    """Whether float64 answers are the right equation's as float32 gives it, which may be all of it or one step: every wrong
    one is within the bounds of float32, and one at least so far off as only roundings to float32 put it."""
    wrong, _ = wrong_and_right(failing, others)
    if not wrong or wrong[0].operation.dtype != "float64":
        return False
    single = [(call, _single(call)) for call in wrong]
    if not all(np.all(one.accepts(answer_of(call))) for call, one in single):
        return False
    with np.errstate(all="ignore"):
        shares = [(np.abs(answer_of(call) - one.value) / one.error)[wrong_in(call)] for call, one in single]
    return bool(max(np.max(np.nan_to_num(share, nan=0.0)) for share in shares) >= ROUNDED)


def _single(call: Call) -> Expectation:
    """What the right equation allows where each argument may be rounded to float32, and every step is."""
    single = FORMATS["float32"]
    arithmetic = Arithmetic(single, single)

    def rounded(x: Any) -> Bounded:
        read = Bounded.input(x, arithmetic)
        nearest = single.round(x)
        return read.at(x, np.maximum(read.error, np.where(nearest == x, 0.0, np.abs(nearest - x))))

    with np.errstate(all="ignore"):
        ball = call.evaluate(rounded)
    return Expectation(ball.value, ball.error, single)


def another_option(failing: Sequence[Call], others: Sequence[Call] = ()) -> tuple[str, list[Any]] | None:
    """The option, and its values, for which every wrong answer is right: that of an earlier call, or one that is fixed."""
    wrong, right = wrong_and_right(failing, others)
    if len(wrong) < TWICE:
        return None
    spec = wrong[0].operation.spec
    for option in (name for name in wrong[0].keywords if name not in (*spec.positional, "wrt")):
        values = list(_distinct([spec.defaults.get(option), *(call.keywords.get(option) for call in (*wrong, *right))]))
        taken = []
        for call in wrong:
            if not (fitting := [value for value in values if _right_for(call, option, value)]):
                break
            taken.append(fitting[0])
        else:
            return option, list(_distinct(taken))
    return None


def _distinct(values: Iterable[Any]) -> Iterable[Any]:
    return {repr(value): value for value in values}.values()  # True is not 1


def _right_for(call: Call, option: str, value: Any) -> bool:
    if repr(value) == repr(call.keywords.get(option)):
        return False
    instead = Call(call.operation, call.arguments, {**call.keywords, option: value})
    try:
        allowed = instead.expectation(call.operation.precision)
    except Exception:
        return False  # not with these arguments
    answer = answer_of(call)
    return allowed.value.shape == answer.shape and bool(np.all(allowed.accepts(answer) & (allowed.claimed | ~wrong_in(call))))
