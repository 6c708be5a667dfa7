"""Slips in how a function is plugged in: its results come in another order, or None is passed where it wants a number.

They say nothing about what the function computes. A few calls show them before any law is tried.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

from ..calls.call import Call
from ..calls.operation import Operation
from ..calls.recorder import Recorder
from ..calls.signature import read_parameters
from ..calls.violation import Lost
from ..inputs.choices import shape_choices
from ..inputs.draw import Draw
from ..specification.formats import INTEGER_DTYPES
from .trial import Trial

CALLS = 6  # that are drawn, until one has results of different shapes
NUMBER = 1.0  # that is tried where None raises

Kind = tuple[tuple[int, ...], bool]  # the shape of an array, and whether it holds integers


def find_exchanged_results(trial: Trial, name: str) -> str:
    """Return what to write where the results of an operation come in another order, else ""."""
    return _find_once(trial, name, "order", _find_order)


def find_number_for_none(trial: Trial, name: str) -> str:
    """Return what to write where a function raises for None in place of a number that it requires, else ""."""
    return _find_once(trial, name, "None", _find_none)


def _find_once(trial: Trial, name: str, kind: str, find: Any) -> str:
    """Return what `find` says of the operation, or of that of a gradient. It is asked once for each backend."""
    known: dict[tuple[str, str], str] = trial.backend.__dict__.setdefault("slips", {})  # as the properties that it has cached
    forward = name.removesuffix("_vjp")
    if (kind, forward) not in known:
        known[kind, forward] = ""  # what is asked for may ask again
        if trial.backend.function(forward) is not None and not trial.backend.runs_on_ranks:
            operation = replace(trial.operation(forward), recorder=Recorder(), infer=None)
            with suppress(Exception):  # inputs that cannot be drawn show nothing
                known[kind, forward] = "" if operation.missing else find(operation)
    return known[kind, forward]


def _draw(operation: Operation, number: int) -> Call:
    source = Random(f"{operation.name} slip {number}")
    return Draw(source.randint, operation, shape_choices(operation.name, source)).call()


def _find_order(operation: Operation) -> str:
    if not operation.spec.has_several_results or operation.spec.list_like:
        return ""
    names = tuple(operation.spec.results)
    for number in range(CALLS):
        call = _draw(operation, number)
        try:
            result = operation.run(call)
        except Lost:  # to ask again would cost as much time again
            return ""
        except Exception:  # which the laws will show
            continue
        if type(result) not in (tuple, list) or len(result) != len(names) or call.parts is None:
            return ""
        given = [_describe_array(operation, x) for x in result]
        dtypes = {part.name: operation.expected_dtypes(part.name, call.keywords) for part in call.parts}
        wanted = {part.name: (part.shape, dtypes[part.name] == INTEGER_DTYPES) for part in call.parts}
        if given == [wanted[name] for name in names]:
            return ""
        fitting = [order for order in itertools.permutations(names) if [wanted[name] for name in order] == given]
        if len(fitting) == 1:
            return (
                f"the results of {operation.name} come in another order, as ({', '.join(fitting[0])}): "
                f"write return {', '.join(names)}"
            )
    return ""


def _describe_array(operation: Operation, x: Any) -> Kind | None:
    framework = operation.backend.framework
    return (tuple(x.shape), framework.dtype_of(x) in INTEGER_DTYPES) if framework.is_array(x) else None


def _find_none(operation: Operation) -> str:
    parameters = {p.name: p for p in read_parameters(operation.function) or ()}
    for name, default in operation.spec.defaults.items():
        is_required = name in parameters and parameters[name].default is parameters[name].empty
        if default is not None or not is_required or name in operation.domain:
            continue
        calls = [_draw(operation, number) for number in range(CALLS)]
        if any(_answers(operation, call, {**call.keywords, name: None}) for call in calls):
            continue
        if not any(_answers(operation, call, {**call.keywords, name: NUMBER}) for call in calls):
            continue
        required = f"{operation.backend.name}'s {operation.name} raises where {name} is None, which most calls pass"
        return f"{required}: write {name}=None, and compute without it where it is None"
    return ""


def _answers(operation: Operation, call: Call, keywords: dict[str, Any]) -> bool:
    """Whether the call has an answer with these keywords."""
    try:
        operation.run(Call(operation, call.arguments, keywords))
    except Exception as error:
        return isinstance(error, Lost)  # of which nothing is known
    return True
