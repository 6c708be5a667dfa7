"""Which joint or part of a composition explains its wrong answers: the equation is changed at one place, and compared.

A place is a call of an operation in the equation, a state, or the operation itself, which the catalogue of deviations replaces.
A change explains the answers if each lies in the bound of the changed equation, and not all in that of the right one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from ..calls.real_numbers import drop_errors
from ..deviations import deviations_of
from ..deviations._catalogue import SUBSTITUTED, take_every_option
from ..specification.float_errors import ignored_float_errors
from ..specification.registry import operations, specification
from .composition import BlockCall, Composition

MAX_NAMES = 3  # of changes that explain the answers
Equation = Callable[..., Any]


@dataclass(frozen=True)
class Change:
    """The equation of a composition with a change at one place, and the place in words."""

    text: str
    equation: Equation


def explain(composition: Composition, wrong: BlockCall, others: list[BlockCall]) -> list[str]:
    """Return the changes that explain a wrong call and all others, the nearest first. Equal ones are in one line."""
    found: list[tuple[float, list[str], list[np.ndarray]]] = []
    for change in list_changes(composition, wrong.named):
        values = _values(change.equation, wrong)
        if values is None or not all(map(_is_near, wrong.answers, values)):
            continue
        if alike := [texts for _, texts, own in found if all(map(np.array_equal, own, values))]:
            alike[0].append(change.text)
        elif (distance := _fit(composition, change, [wrong, *others])) is not None:
            found.append((distance, [change.text], values))
    found.sort(key=lambda entry: entry[0])
    return ["; or ".join(texts[:MAX_NAMES]) for _, texts, _ in found[:MAX_NAMES]]


def list_changes(composition: Composition, named: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the changes: of the states, of each call in the equation, and of each operation."""
    yield from _changes_of_states(composition)
    parts = parts_of(composition.equation)
    made = _record(composition, named, parts)
    for number, (name, bound) in enumerate(made):
        before = [other for other, _ in made[: number + 1]].count(name)
        place = f"{name}, call {before}" if [other for other, _ in made].count(name) > 1 else name
        for text, change in _changes_of_call(bound):
            yield Change(f"{place}: {text}", _changed_at(composition, parts, number, change))
    for name in parts:
        for deviation in deviations_of(name):
            if deviation.kind in SUBSTITUTED:
                equation = _replaced(composition.equation, {name: take_every_option(deviation)})
                yield Change(f"{name}: {deviation.what} ({deviation.id})", equation)


def parts_of(equation: Equation) -> dict[str, Equation]:
    """Return the operations that the equation calls, under the names that its module has them under."""
    found = vars(inspect.unwrap(equation)).get("__globals__", equation.__globals__)
    return {name: found[name] for name in operations() if found.get(name) is specification(name).reference}


@contextmanager
def _substituted(equation: Equation, others: Mapping[str, Equation]) -> Iterator[None]:
    space = equation.__globals__
    before = {name: space[name] for name in others}
    space.update(others)
    try:
        yield
    finally:
        space.update(before)


def _replaced(equation: Equation, others: Mapping[str, Equation]) -> Equation:
    """Return the equation with other functions in place of some of its parts."""

    def changed(**named: Any) -> Any:
        with _substituted(equation, others):
            return equation(**named)

    return changed


# --- states -----------------------------------------------------------------------------------------------------------


def _changes_of_states(composition: Composition) -> Iterator[Change]:
    equation = composition.equation
    for i, name in enumerate(composition.states):

        def ignored(name: str = name, **named: Any) -> Any:
            return equation(**{**named, name: None})

        def kept(name: str = name, place: int = i + 1, **named: Any) -> Any:
            results = list(equation(**named))
            if (before := named[name]) is not None and before.shape == results[place].shape:
                results[place] = before
            return results

        def early(place: int = i + 1, **named: Any) -> Any:
            results = list(equation(**named))
            shorter = equation(**composition.take(named, slice(0, -1)))[place]
            results[place] = shorter if shorter.shape == results[place].shape else results[place]
            return results

        yield Change(f"the state {name} is not read: every call begins without one", ignored)
        yield Change(f"the state {name} is returned as it was given", kept)
        yield Change(f"the state {name} does not have the last token of the call", early)


# --- calls of operations ------------------------------------------------------------------------------------------------


def _record(composition: Composition, named: Mapping[str, Any], parts: Mapping[str, Equation]) -> list[tuple[str, Any]]:
    """Return the name and the arguments of each call of an operation, in the order in which the equation makes them."""
    made: list[tuple[str, Any]] = []

    def recording(name: str, function: Equation) -> Equation:
        def call(*arguments: Any, **keywords: Any) -> Any:
            made.append((name, inspect.signature(function).bind(*arguments, **keywords)))
            return function(*arguments, **keywords)

        return call

    others = {name: recording(name, function) for name, function in parts.items()}
    with _substituted(composition.equation, others), ignored_float_errors():
        composition.equation(**drop_errors(dict(named)))
    return made


def _changed_at(composition: Composition, parts: Mapping[str, Equation], number: int, change: Any) -> Equation:
    """Return the equation with a change of one call, the one of this number."""

    def changed(**named: Any) -> Any:
        count = iter(range(10**6))

        def counting(function: Equation) -> Equation:
            def call(*arguments: Any, **keywords: Any) -> Any:
                if next(count) != number:
                    return function(*arguments, **keywords)
                return change(function, inspect.signature(function).bind(*arguments, **keywords))

            return call

        with _substituted(composition.equation, {name: counting(function) for name, function in parts.items()}):
            return composition.equation(**named)

    return changed


def _changes_of_call(bound: inspect.BoundArguments) -> Iterator[tuple[str, Any]]:
    """Yield what may go wrong with the arguments of a call: left out, exchanged, or the whole call left out."""
    arrays = {name: x for name, x in bound.arguments.items() if np.ndim(x)}
    first = next(iter(arrays), "")
    yield f"it is left out, and {first} goes straight through", partial(_passed, first)
    for name, parameter in bound.signature.parameters.items():
        x, default = bound.arguments.get(name), parameter.default
        if name in bound.arguments and default is not parameter.empty and x is not None and (np.ndim(x) or x != default):
            yield f"{name} is not passed on", partial(_called, partial(_setting, {name: default}))
    if bound.signature.parameters.keys() >= {"scale"} and bound.arguments.get("scale") is None:
        yield "nothing is scaled", partial(_called, partial(_setting, {"scale": 1.0}))
    if "positions" in arrays:
        yield "positions begin with 0 in every call", partial(_called, _from_zero)
    for one, other in combinations(arrays, 2):
        if np.shape(arrays[one]) == np.shape(arrays[other]):
            yield f"{one} and {other} are exchanged", partial(_called, partial(_exchanging, one, other))


def _setting(others: Mapping[str, Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
    return others


def _exchanging(one: str, other: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {one: given[other], other: given[one]}


def _from_zero(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"positions": given["positions"] - given["positions"][..., :1]}


def _called(change: Callable[[Mapping[str, Any]], Mapping[str, Any]], function: Equation, given: inspect.BoundArguments) -> Any:
    given.arguments.update(change(dict(given.arguments)))
    return function(*given.args, **given.kwargs)


def _passed(first: str, function: Equation, given: inspect.BoundArguments) -> Any:
    result = function(*given.args, **given.kwargs)
    x = given.arguments[first]
    if isinstance(result, tuple):
        return (x, *result[1:]) if result[0].shape == x.shape else result
    return x if result.shape == x.shape else result


# --- comparison ---------------------------------------------------------------------------------------------------------


def _values(equation: Equation, call: BlockCall) -> list[np.ndarray] | None:
    """Return the results of an equation in float64, None if it has none, or results of other shapes."""
    try:
        with ignored_float_errors():
            results = [np.asarray(x, dtype=np.float64) for x in equation(**drop_errors(call.named))]
    except Exception:
        return None
    return results if [x.shape for x in results] == [x.shape for x in call.answers] else None


def _fit(composition: Composition, change: Change, calls: list[BlockCall]) -> float | None:
    """Return how far the answers are from the changed equation, in its bounds; None if it does not explain them."""
    distance = 0.0
    for call in calls:
        values = _values(change.equation, call)
        if values is None or not all(map(_is_near, call.answers, values)):
            return None
        try:
            expectations = composition.expect(call.named, change.equation)
        except Exception:
            return None  # the change does not take numbers with errors
        for answer, expectation in zip(call.answers, expectations, strict=True):
            if not np.all(expectation.accepts(answer)):
                return None
            if answer.size:
                distance = max(distance, float(np.max(expectation.share(answer))))
    return distance


def _is_near(answer: np.ndarray, values: np.ndarray) -> bool:
    """Whether an answer may be that of an equation: a cheap test before its bound is derived."""
    if not answer.size or np.array_equal(answer, values):
        return True
    size = np.nanmax(np.abs(values)) if np.any(np.isfinite(values)) else np.inf
    return not np.isfinite(size) or bool(np.nanmax(np.abs(answer - values)) <= 0.1 * size + 1e-6)
