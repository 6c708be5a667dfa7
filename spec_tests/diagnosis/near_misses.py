"""Near misses: the right equation, but in a looser precision class, in float32, or for another option or convention.

A looser class and float32 may come on top of another bug: where a known explanation has an equation, it is tried too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..bounds.expectation import Expectation
from ..calls.call import Call
from ..deviations._oracle_backend import prepare
from ..specification.conventions import conventions_of
from ..specification.formats import FLOAT64_IN_FLOAT32, FORMATS, PRECISIONS, Arithmetic
from .byte_order import find_other_byte_order
from .evidence import Evidence, answer_of, is_wrong, wrong_in
from .explanation import Explanation
from .further_calls import AskInFloat32
from .narrow_integers import find_narrow_integers

MIN_FLOAT32_SHARE = 1 / 64  # of the float32 bound; among many elements one comes that near to the worst case
MIN_WRONG_ANSWERS = 2  # one answer may fit another option by chance
MAX_SHOWN_VALUES = 3
ASKED_IN_FLOAT32 = 4  # calls
LOOSER = MappingProxyType({"mixed": "some of its intermediate results", "eager": "its intermediate results"})


def find_near_miss(
    evidence: Evidence,
    known: Sequence[Explanation] = (),
    is_late: Callable[[], bool] = lambda: False,
    in_float32_instead: AskInFloat32 = lambda call: None,
) -> Explanation | None:
    """Return the first near miss that explains every wrong answer. `known` are explanations of other answers.

    A looser class allows what another equation gives where its bound is wide, as that of a recurrence is. That equation is wrong
    in float32, too, and there the bound is narrow: the same call in float32 must not be wrong without another explanation.
    An option is one only if answers are right for several values of it, as of earlier calls, or for one value whatever is given.
    One value that right answers contradict is a half.
    Once `is_late` returns True, no other option is tried.
    """
    if not evidence.wrong:
        return None
    operation = evidence.wrong[0].operation
    near_miss = partial(Explanation, "near miss", operation=operation.name)
    if found := find_other_byte_order(evidence) or find_narrow_integers(evidence):
        return found
    looser = looser_class(evidence, known)
    if looser and not _is_another_equation(evidence.wrong, known, in_float32_instead):
        what = f"the right equation, {LOOSER[looser]} rounded to {operation.dtype}"
        return near_miss(f"class {looser}", what, predicts=partial(_is_in_class, operation.name, looser, known))
    if in_float32(evidence, known):
        what = "the right equation, all or some of it computed in float32"
        return near_miss(FLOAT64_IN_FLOAT32, what, predicts=partial(_is_in_float32, known))
    if found := find_other_convention(evidence):
        return found
    if (option := another_option(evidence, is_late)) is None:
        return None
    name, values = option
    if len(values) > 1:
        return describe_option(operation.name, name, values)
    if not _is_fixed(evidence, name, values[0], is_late):
        return None
    predicts = partial(_is_for_fixed_option, operation.name, name, values[0])
    return near_miss(f"{name} {values[0]!r}", f"{name} is {values[0]!r}, whatever is given", predicts=predicts)


def find_other_convention(evidence: Evidence) -> Explanation | None:
    """Return the convention that every wrong answer follows in place of the one that holds of the backend."""
    operation = evidence.wrong[0].operation
    for convention in conventions_of(operation.name):
        held = {call.conventions.get(convention.name, "") for call in evidence.wrong}
        if len(held) != 1 or "" in held:
            continue
        (right,) = held
        for value in (value for value in convention.values if value != right):
            follows = partial(_follows, operation.name, convention.name, value)
            if all(map(follows, evidence.wrong)) and not any(map(follows, evidence.right)):
                shown, held_one = (f"{name} ({convention.values[name].words})" for name in (value, right))
                what = f"{convention.name} is {shown} where it has to be {held_one}"
                return Explanation("near miss", f"another {convention.name}", what, operation.name, follows)
    return None


def _follows(operation: str, convention: str, value: str, call: Call) -> bool | None:
    """Whether the answer of a call is right under another value of a convention, and not under the one that holds."""
    held = call.conventions.get(convention)
    if call.operation.name != operation or held in (None, value):
        return None
    judged = Call(call.operation, call.arguments, call.keywords, observed=call.judged_by_answer, formats=call.formats)
    judged.settle({**call.conventions, convention: value})
    expected = _accept(call, iter([judged.expectation(call.operation.precision)])) if is_wrong(call) else None
    return expected is not None and _says_something(expected, call)


def _says_something(expected: Expectation, call: Call) -> bool:
    """Whether what is expected of a wrong answer excludes 0 or the right value, in some wrong element.

    A bound that admits both, as the infinite one of many steps in few bits does, admits the answers of many bugs.
    """
    at, answer = wrong_in(call), answer_of(call)
    with np.errstate(all="ignore"):
        excludes = (np.abs(expected.value) > expected.error) | (np.abs(expected.value - call.value) > expected.error)
    return bool(np.any(at & (excludes & expected.claimed | np.isnan(expected.value) & np.isnan(answer))))


def find_fixed_option(evidence: Evidence, is_late: Callable[[], bool] = lambda: False) -> Explanation | None:
    """Return the option for one value of which every wrong answer is right. Right answers may be against it: it is a half."""
    found = another_option(evidence, is_late)
    return describe_option(evidence.wrong[0].operation.name, *found) if found and len(found[1]) == 1 else None


def _is_fixed(evidence: Evidence, option: str, value: Any, is_late: Callable[[], bool]) -> bool:
    """Whether every answer is right for this value of an option, where others were given: at least two of them."""
    calls = [call for call in (*evidence.wrong, *evidence.right) if repr(call.keywords.get(option)) != repr(value)]
    given = {repr(call.keywords.get(option)) for call in calls}
    return len(given) > 1 and all(not is_late() and _is_right_for(call, option, value) for call in calls)


def _is_for_fixed_option(operation: str, option: str, value: Any, call: Call) -> bool | None:
    """Whether the answer of a call is the right one for the value of an option that is taken whatever is given."""
    if call.operation.name != operation or option not in call.keywords:
        return None
    if repr(value) == repr(call.keywords[option]):
        return not np.any(wrong_in(call))
    return _is_right_for(call, option, value)


def describe_option(operation: str, option: str, values: list[Any]) -> Explanation:
    """Return the explanation that answers are right for some values of an option: of one that is fixed, or of earlier calls."""
    several = " or ".join([str(value) for value in values[:MAX_SHOWN_VALUES]] + ["others"] * (len(values) > MAX_SHOWN_VALUES))
    predicts = partial(_is_for_another_option, operation, option, values)
    what = f"the right answer for another {option} than was given"
    return Explanation("near miss", f"another {option}", what, operation, predicts, facts=((option, several),))


def _is_in_class(operation: str, precision: str, known: Sequence[Explanation], call: Call) -> bool | None:
    """Whether the answer of a call in 16 bits is right in a looser precision class."""
    if call.operation.name != operation or call.operation.storage.precision >= 24:
        return None
    return _accept(call, _expect_in_class(call, precision, known)) is not None


def _is_in_float32(known: Sequence[Explanation], call: Call) -> bool | None:
    """Whether a float64 answer lies within the float32 bound. It is one cause in whatever operations it shows."""
    if call.operation.dtype != "float64":
        return None
    return _accept(call, _expect_in_float32(call, known)) is not None


def _is_for_another_option(operation: str, option: str, values: list[Any], call: Call) -> bool | None:
    """Whether the answer of a call is right for one of the values of the option that explain other answers.

    Where one of these values is given, the right answer is expected. Of another right answer it says nothing, unless that is
    right for one of these values as well.
    """
    if call.operation.name != operation or option not in call.keywords:
        return None
    if any(repr(value) == repr(call.keywords[option]) for value in values):
        return not np.any(wrong_in(call))
    explains = any(_is_right_for(call, option, value) for value in values)
    return explains or (False if np.any(wrong_in(call)) else None)  # it says what wrong answers are, not where they are


def looser_class(evidence: Evidence, known: Sequence[Explanation] = ()) -> str:
    """Return the strictest precision class in which the right equation explains every wrong answer, "" if there is none."""
    wrong = evidence.wrong
    if not wrong or wrong[0].operation.precision == "exact" or wrong[0].operation.storage.precision >= 24:
        return ""
    stricter = PRECISIONS.index(wrong[0].operation.precision) + 1
    for precision in PRECISIONS[stricter:]:
        accepted = [_accept(call, _expect_in_class(call, precision, known)) for call in wrong]
        if all(accepted) and accepted[0] and np.all(accepted[0].claimed[wrong_in(wrong[0])]):
            return precision
    return ""


def _is_another_equation(wrong: Sequence[Call], known: Sequence[Explanation], in_float32_instead: AskInFloat32) -> bool:
    """Whether the answer to one of the first calls is wrong in float32, too, and no known explanation predicts it.

    An answer whose numbers all have the 16 bits of the dtype says nothing: code may compute in that dtype whatever it is given.
    """
    narrow = wrong[0].operation.storage

    def contradicts(call: Call | None) -> bool:
        if call is None or not is_wrong(call) or any(explanation.predicts(call) for explanation in known):
            return False
        found = answer_of(call)
        return not np.array_equal(narrow.round(found), found, equal_nan=True)

    return any(contradicts(in_float32_instead(call)) for call in wrong[:ASKED_IN_FLOAT32])


def _expect_in_class(call: Call, precision: str, known: Sequence[Explanation]) -> Iterator[Expectation]:
    """Yield what the right equation allows in a precision class, and then what the known explanations allow."""
    yield call.expectation(precision)
    for equation in _list_equations(call, known):
        yield call.expect(precision, equation)


def _list_equations(call: Call, known: Sequence[Explanation]) -> list[Any]:
    name, storage = call.operation.name, call.operation.storage
    return [prepare(name, found, storage) for explanation in known if (found := explanation.equation_of(name)) is not None]


def _accept(call: Call, expected: Iterator[Expectation]) -> Expectation | None:
    """Return the first expectation that allows the answer, None if there is none, or if its equation does not take the call."""
    answer = answer_of(call)
    with suppress(Exception):
        for expectation in expected:
            if expectation.value.shape == answer.shape and np.all(expectation.accepts(answer)):
                return expectation
    return None


def in_float32(evidence: Evidence, known: Sequence[Explanation] = ()) -> bool:
    """Whether float64 answers are those of the right equation with some or all of its steps in float32.

    Every wrong answer must lie within the float32 bound, and at least one must be as far off as float32 roundings put it.
    """
    wrong = evidence.wrong
    if not wrong or wrong[0].operation.dtype != "float64":
        return False
    shares = []
    for call in wrong:
        if (expectation := _accept(call, _expect_in_float32(call, known))) is None:
            return False
        with np.errstate(all="ignore"):
            shares.append((np.abs(answer_of(call) - expectation.value) / expectation.error)[wrong_in(call)])
    return bool(max(np.max(np.nan_to_num(share, nan=0.0)) for share in shares) >= MIN_FLOAT32_SHARE)


def _expect_in_float32(call: Call, known: Sequence[Explanation]) -> Iterator[Expectation]:
    """Yield the value and bound of the right equation with every step, and perhaps each argument, rounded to float32.

    Those of the known explanations follow.
    """
    single = FORMATS["float32"]
    arithmetic = Arithmetic(single, single)

    def round_input(x: Any) -> Bounded:
        unrounded = Bounded.input(x, arithmetic)
        nearest = single.round(x)
        return unrounded.at(x, np.maximum(unrounded.error, np.where(nearest == x, 0.0, np.abs(nearest - x))))

    for equation in (None, *_list_equations(call, known)):
        with np.errstate(all="ignore"):
            ball = call.evaluate(round_input, equation)
        yield Expectation(ball.value, ball.error, single)


def another_option(evidence: Evidence, is_late: Callable[[], bool] = lambda: False) -> tuple[str, list[Any]] | None:
    """Return an option and the values of it for which every wrong answer is right: a fixed value, or that of an earlier call."""
    if not any(np.any(wrong_in(call) & ~np.isnan(answer_of(call))) for call in evidence.wrong):
        return None  # NaN is what many options give, as 0 / 0 is: it names none
    wrong, right = evidence.wrong, evidence.right
    if len(wrong) < MIN_WRONG_ANSWERS:
        return None
    spec = wrong[0].operation.spec
    for option in (name for name in wrong[0].keywords if name not in (*spec.positional, "wrt")):
        values = list(_drop_duplicates([spec.defaults.get(option), *(call.keywords.get(option) for call in (*wrong, *right))]))
        if option == "axis":
            values += [value for value in (0, -1) if value not in values]  # of code that has an axis of its own
        used, common = [], values
        for call in wrong:
            if is_late():
                return None
            if not (fitting := [value for value in values if _is_right_for(call, option, value)]):
                break
            used.append(fitting[0])
            common = [value for value in common if value in fitting]
        else:
            return option, common[:1] or list(_drop_duplicates(used))
    return None


def _drop_duplicates(values: Iterable[Any]) -> Iterable[Any]:
    return {repr(value): value for value in values}.values()  # by repr, since True == 1


def _is_right_for(call: Call, option: str, value: Any) -> bool:
    """Whether the answer is right for this value of the option, which is not the value that was given."""
    if repr(value) == repr(call.keywords.get(option)):
        return False
    repeat = partial(_repeat, copies=call.given.copies)  # an axis may be that along which a law repeats the batch
    named = zip(call.operation.spec.positional, call.arguments, strict=False)
    arguments = tuple(repeat(x) if name in call.given.stacked else x for name, x in named)
    instead = Call(call.operation, arguments, {**call.keywords, option: value}, observed=call.judged_by_answer)
    try:
        allowed = instead.expectation(call.operation.precision)
        shape = allowed.value.shape  # which evaluates the equation
    except Exception:
        return False  # the equation does not take these arguments
    answer = repeat(answer_of(call))
    if shape != answer.shape or not allowed.accepts_all(answer):
        return False
    said = allowed.claimed | (np.isnan(allowed.value) & np.isnan(answer))
    return bool(np.all(said | ~repeat(wrong_in(call))))


def _repeat(x: Any, copies: int) -> Any:
    """Return an array with its batch repeated along the first axis."""
    return x if copies == 1 else np.concatenate([x] * copies)
