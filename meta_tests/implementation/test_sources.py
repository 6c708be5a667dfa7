"""Test that the sources' own code, behind adapters, gets the verdicts that docs/sources.md states."""

import re

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.implementation.backend import Backend
from spec_tests.report.causes import state_cause
from spec_tests.specification import run_settings
from spec_tests.specification.registry import operations, specification
from spec_tests.specification.run_settings import RunSettings

from ..support.in_process import attempt, backend, trials
from ..support.paths import BACKENDS, DOCS

torch = pytest.importorskip("torch")
from ..backends.sources._book import local_attention  # noqa: E402 - it imports torch

FOLDER = BACKENDS / "sources"
ROWS = re.findall(r"^\| .* \| `(\w+)` \| `sources/(\w+)\.py` \| (.+) \|$", (DOCS / "sources.md").read_text(), re.MULTILINE)
SLOW = ("multihead_self_attention",)
EFFORTS = {"rope": "default"}  # smoke effort does not try other default dtypes


def load(name: str) -> Backend:
    return backend(str(FOLDER / f"{name}.py"))


def find_causes(name: str, operation: str) -> tuple[int, list[str]]:
    """Return how many laws of the operation were tried, and the causes of their failures in words."""
    under_test, tried = load(name), 0
    for test, trial in trials(under_test):
        if test.invariant.level is None and test.invariant.subject(trial.operation_name) == operation:
            attempt(test, trial, seed=1, shrink=True)
            tried += 1
    return tried, [state_cause(cause, 1).what for cause in under_test.causes if cause.operation == operation]


@pytest.mark.parametrize(
    ("operation", "name", "verdict"), [pytest.param(*row, marks=pytest.mark.slow) if row[0] in SLOW else row for row in ROWS]
)
def test_the_page_states_the_verdict(operation: str, name: str, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_settings, "_current", RunSettings(EFFORTS.get(operation, "smoke")))
    tried, causes = find_causes(name, operation)
    assert tried > 1
    stated = [] if verdict == "conforms" else verdict.removeprefix("deviates: ").split("; ")
    assert len(causes) == len(stated), causes
    for sentence in stated:
        assert any(cause.startswith(sentence) for cause in causes), causes


def test_every_adapted_operation_has_a_verdict() -> None:
    adapters = [load(path.stem) for path in FOLDER.glob("*.py") if not path.stem.startswith("_")]
    adapted = {(adapter.name, operation) for adapter in adapters for operation in operations() if adapter.function(operation)}
    assert {(name, operation) for operation, name, _ in ROWS} == adapted


@pytest.mark.parametrize("window", [0, 1, 2, 5, 40])
@pytest.mark.parametrize("seed", range(5))
def test_exercise_9_is_local_attention_of_one_array_with_a_scale_of_one(window: int, seed: int) -> None:
    """The function has one array for q, k and v, which no domain can state: here it is compared within the bound alone."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 20, 2)
    x = rng.standard_normal((3, n, d)).astype(np.float32)
    answer = local_attention(torch.tensor(x), window).numpy()
    spec = specification("local_attention")
    call = Call(Operation(spec, backend("numpy-cpu"), "float32", spec.precision), (x, x, x), {"window": window, "scale": 1.0})
    expectation = call.expectation("fused")
    assert expectation.accepts(answer).all()
    wider = Call(call.operation, (x, x, x), {"window": window + 1, "scale": 1.0}).expectation("fused")
    assert wider.accepts(answer).all() == (window >= n - 1)
