"""Test that an equation is tested on further calls before it is said, also after the time for other equations is over."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from spec_tests.calls.call import Call
from spec_tests.diagnosis.equation_check import MIN_FURTHER_CALLS
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.explanation import Explanation
from spec_tests.diagnosis.nearest_equation import search_equation
from spec_tests.specification.registry import specification

from ..support.answered import answers

RANDOM = np.random.default_rng(1)


def with_seven_eps(x: Any, weight: Any, *, eps: float) -> Any:
    return specification("rms_norm").reference(x, weight, eps=7 * eps)


def ask_norm(function: Any, count: int) -> list[Call]:
    return answers("rms_norm", function, [((RANDOM.normal(size=(2, d)), np.ones(d)), {"eps": 0.25}) for d in range(2, 2 + count)])


def search(last: float | None, *, contradicted: bool = False) -> Explanation | None:
    """Search with a clock that passes the deadline at the first further call. contradicted: by the last of these calls."""
    now = 0.0

    def ask() -> Iterator[Call]:
        nonlocal now
        now = 2.0
        yield from ask_norm(with_seven_eps, MIN_FURTHER_CALLS + 4)
        if contradicted:
            yield from ask_norm(lambda x, weight, *, eps: with_seven_eps(x, weight, eps=2 * eps), 1)

    evidence = Evidence.gather(ask_norm(with_seven_eps, 4))
    return search_equation(evidence, deadline=1.0, last=last, clock=lambda: now, ask=ask)


def test_an_equation_is_tested_until_the_last_moment() -> None:
    assert search(last=3.0) is not None
    assert search(last=3.0, contradicted=True) is None
    assert search(last=None) is None, "too few calls were asked for to say an equation"


def test_enough_further_calls_do_if_the_time_ends() -> None:
    found = search_equation(
        Evidence.gather(ask_norm(with_seven_eps, 4)),
        deadline=1.0,
        clock=lambda: 0.0,
        ask=lambda: ask_norm(with_seven_eps, MIN_FURTHER_CALLS),
    )
    assert found is not None
    assert "7" in found.what
