"""Test the stopwatch of what follows a failure: a slow machine gets more time, and so does one that other programs keep busy."""

from types import SimpleNamespace

import pytest

from spec_tests.trials import stopwatch
from spec_tests.trials.stopwatch import BOUND_SECONDS, MAX_SLOWDOWN, TIMED_EVERY_SECONDS, Stopwatch, time_bound


class Machine:
    """A machine whose clocks and speed a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.worked, self.passed, self.bound_seconds, self.timed = 0.0, 0.0, BOUND_SECONDS, 0
        clocks = SimpleNamespace(process_time=lambda: self.worked, monotonic=lambda: self.passed)
        monkeypatch.setattr(stopwatch, "time", clocks)
        monkeypatch.setattr(stopwatch, "time_bound", self.time_bound)

    def time_bound(self) -> float:
        self.timed += 1
        return self.bound_seconds

    def run(self, worked: float, passed: float = 0.0) -> None:
        self.worked, self.passed = self.worked + worked, self.passed + max(worked, passed)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_the_usual_machine_s_seconds_are_counted_as_they_are(machine: Machine) -> None:
    watch = Stopwatch()
    machine.run(2.0)
    assert watch() == pytest.approx(2.0)
    machine.run(0.5)
    assert watch() == pytest.approx(2.5)


@pytest.mark.parametrize(("times_slower", "counted"), [(0.1, 6.0), (1.0, 6.0), (3.0, 2.0), (1000.0, 6.0 / MAX_SLOWDOWN)])
def test_a_second_counts_less_on_a_slow_machine_and_no_more_on_a_fast_one(
    machine: Machine, times_slower: float, counted: float
) -> None:
    machine.bound_seconds = times_slower * BOUND_SECONDS
    watch = Stopwatch()
    machine.run(6.0)
    assert watch() == pytest.approx(counted)


def test_only_the_seconds_in_which_the_machine_was_slow_count_less(machine: Machine) -> None:
    watch = Stopwatch()
    machine.run(1.0)
    watch()
    machine.bound_seconds = 2 * BOUND_SECONDS
    for _ in range(stopwatch.TIMES_KEPT):  # until the fast measurements are forgotten
        machine.run(TIMED_EVERY_SECONDS)
        watch()
    before = watch()
    machine.run(1.0)
    assert watch() - before == pytest.approx(0.5)


def test_the_speed_is_measured_only_after_some_work(machine: Machine) -> None:
    watch = Stopwatch()
    for _ in range(1000):
        machine.run(TIMED_EVERY_SECONDS / 100)
        watch()
    assert machine.timed <= 11


def test_a_part_of_the_time_in_which_the_process_waits_is_counted(machine: Machine) -> None:
    watch = Stopwatch()
    machine.run(1.0, passed=2.0)  # shared with another process
    assert watch() == pytest.approx(1.0)
    machine.run(0.0, passed=8.0)  # waits for a device
    assert watch() == pytest.approx(3.0)


def test_a_bound_takes_some_time() -> None:
    assert 0 < time_bound() < 1
