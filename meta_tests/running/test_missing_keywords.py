"""A function of rope_frequencies that lacks an optional argument gets a verdict: no law needs what the function does not take."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from reference_numpy.rope_frequencies import rope_frequencies
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework

from ..support.in_process import attempt, trials_of


def narrow_backend(*keys: str) -> Backend:
    """Return a backend whose function lacks optional arguments."""

    def narrowed(**keywords: Any) -> Any:
        return right(**signature.bind(**keywords).arguments)

    def right(**keywords: Any) -> Any:
        return rope_frequencies(**keywords)

    given = inspect.signature(rope_frequencies).parameters
    signature = inspect.Signature([p for name, p in given.items() if name not in keys])
    narrowed.__signature__ = signature  # type: ignore[attr-defined]
    return Backend("narrow", SimpleNamespace(rope_frequencies=narrowed), Framework("numpy"))


@pytest.mark.parametrize("key", ["length", "original_length", "factor"])
def test_a_function_without_an_argument_gets_a_verdict(key: str) -> None:
    tried = 0
    for test, trial in trials_of("rope_frequencies", narrow_backend(key)):
        if test.invariant.subject(trial.operation_name) == "rope_frequencies" and len(test.invariant.operations) == 1:
            attempt(test, trial, 1)  # an exception of the law itself is no verdict
            tried += trial.tally.calls != []
    assert tried
