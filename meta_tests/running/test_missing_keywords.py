"""A function of rope_frequencies that lacks an optional argument gets a verdict: no law needs what the function does not take."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reference_numpy.rope_frequencies import rope_frequencies
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework

from ..support.in_process import attempt, trials_of
from ..support.pytest_process import suite, write


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


def test_no_law_about_seeds_is_tried_of_a_function_without_one(tmp_path: Path) -> None:
    """A law needs an argument by the name `keyword:…`; with another word the law was tried, and it ended with a KeyError."""
    pytest.importorskip("torch")
    code = """
        import torch


        def sample(probabilities, num_samples=1):
            drawn = torch.multinomial(probabilities.reshape(-1, probabilities.shape[-1]), num_samples, replacement=True)
            return drawn.reshape(*probabilities.shape[:-1], num_samples)
    """
    write(tmp_path, mine=code)
    run = suite(tmp_path, "--backend=mine.py", "--effort=smoke", "-k", "seed and not every")
    assert "outside of the backend" not in run.text, run.text
    assert "laws of sample that vary seed" in " ".join(run.text.split()), run.text
