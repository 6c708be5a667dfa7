"""Test how much work the failures of an operation may cost together, and the safety net that ends it by the clock."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.inputs import effort
from spec_tests.inputs.effort import current_effort, using_effort
from spec_tests.report.causes import state_cause
from spec_tests.report.failure import failure_message
from spec_tests.report.records import to_record
from spec_tests.running.safety_net import SafetyNet
from spec_tests.specification.registry import operations
from spec_tests.trials.trial import Trial

from ..support.in_process import attempt, backend, trials_of

ALL = 1e9  # units, at default effort


@pytest.mark.parametrize(
    ("spent", "search", "with_the_catalogue"),
    [(0, 0.8265, 0.95), (0.8, 0.0665, 0.15), (0.87, 0.0, 0.08), (0.9, 0.0, 0.05), (0.95, 0.0, 0.0), (12, 0.0, 0.0)],
)
def test_failures_of_an_operation_share_one_budget(spent: float, search: float, with_the_catalogue: float) -> None:
    """Without a limit in all, thirty failures that nothing explains would cost thirty times as much."""
    assert current_effort().failure_work == ALL
    under_test = backend("deviation:softmax/axis-ignored")
    under_test.work_after_failures["softmax"] = int(spent * ALL)
    trial = Trial(under_test, "float32")
    with trial.after_failure("softmax") as budget:
        assert budget.search.left == pytest.approx(search * ALL)
        assert budget.known.left == pytest.approx(with_the_catalogue * ALL)
        under_test.meter.add(1000)
    assert under_test.work_after_failures["softmax"] == int(spent * ALL) + 1000
    with trial.after_failure("gelu") as budget:
        assert budget.search.left == pytest.approx(0.8265 * ALL)


class SlowClock:
    """A clock that goes on by some seconds whenever it is read."""

    def __init__(self, seconds: float):
        self.now, self.seconds = 0.0, seconds

    def __call__(self) -> float:
        self.now += self.seconds
        return self.now


def with_sines() -> Backend:
    """Return a backend whose softmax follows no equation, in more columns than seven."""

    def softmax(x: np.ndarray, *, axis: int) -> np.ndarray:
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        y = e / np.sum(e, axis=axis, keepdims=True)
        return y * (1 + 0.01 * np.sin(1e6 * x)) if x.shape[axis] > 7 else y

    source = SimpleNamespace(framework="numpy", dtypes=("float64",), softmax=softmax)
    return build_backend(source, set(operations()))


def fail(seconds: float | None) -> tuple[Backend, Any, Trial]:
    """Let the backend fail, with a clock that goes on by so many seconds at each reading; without one if it is None."""
    under_test = with_sines()
    if seconds is not None:
        under_test.__dict__["safety_net"] = SafetyNet(SlowClock(seconds))
    test, trial = next(
        (test, trial) for test, trial in trials_of("softmax", under_test) if test.invariant.id == "operation.reference"
    )
    with using_effort("smoke"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(effort, "EFFORTS", {"smoke": replace(effort.EFFORTS["smoke"], failure_work=100e6)})
        assert attempt(test, trial, seed=1, shrink=True) is not None
    return under_test, test, trial


@pytest.mark.rotating
def test_the_same_seed_costs_the_same_and_says_the_same() -> None:
    """Also if the clock is slow, as long as the safety net does not end the search."""
    (one, _, _), (other, _, _), (slow, _, _) = fail(None), fail(1e-9), fail(1e-4)
    assert one.meter.units == other.meter.units == slow.meter.units > 0
    assert one.work_after_failures == other.work_after_failures == slow.work_after_failures
    assert [state_cause(cause, 1) for cause in one.causes] == [state_cause(cause, 1) for cause in slow.causes]
    assert one.causes
    assert "ended_after" not in to_record(state_cause(one.causes[0], 1))


@pytest.mark.rotating
def test_the_message_and_the_record_say_that_the_clock_ended_a_search() -> None:
    under_test, test, trial = fail(0.5)
    (cause,) = under_test.causes
    assert state_cause(cause, 1).ended_after == 60.0
    message = failure_message(test.invariant, trial)
    assert "the search for the cause was ended after 60 s; on a faster machine it may say more" in message
    assert under_test.meter.units < fail(None)[0].meter.units


def test_the_failures_of_one_operation_share_the_seconds_of_the_safety_net() -> None:
    clock = SlowClock(0.0)
    net, seconds = SafetyNet(clock), current_effort().failure_seconds
    with net("softmax") as is_over:
        clock.now += 0.75 * seconds
        assert not is_over()
    with net("gelu") as is_over:
        clock.now += 0.75 * seconds
        assert not is_over()
    with net("softmax") as is_over:
        assert not is_over()
        clock.now += 0.5 * seconds
        assert is_over()
