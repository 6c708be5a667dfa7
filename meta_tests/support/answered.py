"""Calls of an operation that a plain function has answered."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.registry import specification

from .budgets import give_budget


def answers(operation: str, function: Callable[..., Any], calls: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> list[Call]:
    """Return the calls of an operation, answered by a function in float64."""
    under_test = Backend("unseen", SimpleNamespace(**{operation: function}), Framework("numpy"))
    spec = specification(operation)
    called = Operation(spec, under_test, "float64", spec.precision)
    for arguments, keywords in calls:
        called(*arguments, **keywords)
    return called.recorder.calls


def read_words(calls: list[Call]) -> str:
    """Return what is read from some answers, of which at least one is wrong, without the catalogue; "" if nothing is."""
    evidence = Evidence.gather(calls)
    assert evidence.wrong
    budget = give_budget(evidence.wrong[0].operation.backend)
    found = read_operator(evidence, answer=lambda *_: None, budget=budget, catalogue=False)
    return found.what if found else ""
