"""Compare the answer of a call with the known values of each convention that decides it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from ..bounds.expectation import Expectation
from ..specification.conventions import UPDATE, Convention, conventions_of
from .call import Call
from .recorder import UNKNOWN
from .violation import Violation, exceeds_bound

Values = dict[str, str]  # of conventions, by their names


def fits(call: Call, convention: Convention, value: str, settled: Values | None = None) -> bool:
    """Whether the answer lies within the bound of the equation under this value. `settled` are those of earlier conventions.

    Other closed conventions that decide the same elements may have any value that the backend does not contradict.
    """
    if not _has_its_dtype(call, convention, value):
        return False
    return any(_fits_all(*_compare(call, convention, value, rest)) for rest in _assignments(call, convention, value, settled))


def _has_its_dtype(call: Call, convention: Convention, value: str) -> bool:
    """Whether the answer has the dtype that this value gives it, where the values of the convention differ in that."""
    name = call.operation.name
    if not any(name in one.returned_by for one in convention.values.values()):
        return True
    known = convention.values[value]
    return call.operation.result_format(call).name == (known.computes_in if name in known.returned_by else call.operation.dtype)


def _assignments(call: Call, convention: Convention, value: str, settled: Values | None) -> Iterator[Values]:
    """Yield the values that the closed conventions may have which decide the same elements, if this one has this value."""
    operation, fixed = call.operation, {**(settled or {}), convention.name: value}
    others = [c for c in conventions_of(operation.name) if c.is_closed and c.name not in {*fixed, UPDATE}]
    asked = [c for c in others if call.asks(c, fixed)]
    stated = [operation.backend.convention(c.name, operation.name) for c in asked]
    choices = itertools.product(*((known,) if known else tuple(c.values) for c, known in zip(asked, stated, strict=True)))
    for choice in choices:
        yield {**fixed, **{c.name: v for c, v in zip(asked, choice, strict=True)}}


def _compare(call: Call, convention: Convention, value: str, settled: Values) -> tuple[Expectation, np.ndarray, np.ndarray]:
    """Return what the equation demands under this value, the answer, and its elements that are NaN only where they may be.

    Where the equation is NaN, NaN is demanded, except of elements about which a later convention decides.
    """
    operation, values = call.operation, {**settled, convention.name: value}
    asks_later = _asks_another(call, convention, values)
    judged = Call(operation, call.arguments, call.keywords, observed=call.judged_by_answer, formats=call.formats)
    judged.settle(values)
    exact, observed = judged.value, np.asarray(call.observed, dtype=np.float64)
    return judged.expectation(operation.classes()[-1]), observed, asks_later | ~np.isnan(exact) | np.isnan(observed)


def _fits_all(expectation: Expectation, observed: np.ndarray, demanded: np.ndarray) -> bool:
    """Whether every element of the answer meets what the equation demands."""
    return bool(np.all(demanded)) and expectation.accepts_all(observed)


def _asks_another(call: Call, convention: Convention, values: Values) -> bool:
    """Whether a later convention decides the call, too."""
    own = conventions_of(call.operation.name)
    return any(call.asks(later, values) for later in own[own.index(convention) + 1 :])


def judge_conventions(call: Call, record: Callable[[str, str], None]) -> None:
    """Raise a Violation if the answer contradicts what the backend states, its other answers, or a closed convention.

    `record(name, value)` is told of each convention that is not stated which value the answer fits, or that it fits none.
    """
    operation, settled = call.operation, Values()
    for convention in conventions_of(operation.name):
        if not call.asks(convention, settled):
            continue
        possible = operation.possible_values(convention)
        if convention.decides_every_call and _asks_another(call, convention, {convention.name: possible[0]}):
            settled[convention.name] = possible[0]  # a question of another convention is none of this one
            continue
        fitting = next((value for value in possible if fits(call, convention, value, settled)), None)
        if fitting is None:
            _judge_misfit(call, convention, possible, settled)
        if not operation.backend.convention(convention.name, operation.name):
            record(convention.name, fitting or UNKNOWN)
        if fitting is None:
            return  # what later conventions would decide rests on this one
        settled[convention.name] = fitting


def _judge_misfit(call: Call, convention: Convention, possible: tuple[str, ...], settled: Values) -> None:
    """Raise the Violation of an answer that fits none of the possible values, unless the convention leaves others open."""
    name, stated = convention.name, call.operation.backend.convention(convention.name, call.operation.name)
    others = [value for value in convention.values if value not in possible and fits(call, convention, value, settled)]
    is_known = len(possible) < len(convention.values)  # the backend or its other answers have excluded some
    expects_one = is_known and all(convention.values[value].is_deliberate for value in possible)
    if not (stated or others or convention.is_closed or expects_one):
        return
    assignment = next(_assignments(call, convention, possible[0], settled))
    expectation, observed, demanded = _compare(call, convention, possible[0], assignment)
    seen = exceeds_bound(observed, expectation, expectation.accepts(observed) & demanded)
    expected = " or ".join(possible)
    if others:
        source = f"where the backend states {expected}" if stated else f"and {expected} in its other answers"
        what = f"{name} is {' or '.join(others)} here, {source}"
    elif is_known:
        source = "which the backend states" if stated else "as its other answers are"
        what = f"the answer is not that of {name} = {expected}, {source}"
    else:
        what = f"the answer fits no known {name}: neither {' nor '.join(convention.values)}"
    known = [(value, convention.values[value].words) for value in dict.fromkeys((*possible, *others))]
    raise Violation(what, [("decides", convention.question), *known, ("observed", seen.what), *seen.facts])
