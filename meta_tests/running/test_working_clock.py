"""Test the clock of the safety net: what other processes take does not count."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from spec_tests.running.working_clock import THIS_THREAD, WorkingClock, read_waits


def clock_of(*looks: tuple[float, dict[str, float]]) -> WorkingClock:
    """Return a clock that sees these seconds, and at each of them these waits."""
    seconds, waits = iter([now for now, _ in looks]), iter([seen for _, seen in looks])
    return WorkingClock(lambda: next(seconds), lambda: next(waits))


@pytest.mark.parametrize(
    ("before", "after", "counted"),
    [
        ({}, {}, 10.0),  # a system that says nothing of it
        ({THIS_THREAD: 3.0}, {THIS_THREAD: 3.0}, 10.0),
        ({THIS_THREAD: 3.0}, {THIS_THREAD: 11.0}, 2.0),
        ({THIS_THREAD: 3.0}, {THIS_THREAD: 3.0, "7": 6.0}, 4.0),  # a process that was started since
        (
            {THIS_THREAD: 3.0, "7": 1.0},
            {THIS_THREAD: 5.0, "7": 8.0},
            3.0,
        ),  # both waited: the longer one, since both may wait at once
        ({THIS_THREAD: 3.0, "7": 9.0}, {THIS_THREAD: 3.0}, 10.0),  # it has ended
        ({THIS_THREAD: 3.0, "7": 9.0}, {THIS_THREAD: 3.0, "7": 0.0}, 10.0),  # another one has its number
        ({THIS_THREAD: 3.0}, {THIS_THREAD: 30.0}, 0.0),  # more than the time that has passed
    ],
)
def test_the_time_without_a_core_is_left_out(before: dict[str, float], after: dict[str, float], counted: float) -> None:
    clock = clock_of((100.0, before), (110.0, after))
    assert clock() - 100.0 == pytest.approx(counted)


@pytest.fixture
def a_busy_core() -> Iterator[None]:
    """Keep one core busy with four processes, and run this thread on it."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    busy = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(4)]
    yield
    for process in busy:
        process.kill()
        process.wait()
    os.sched_setaffinity(0, allowed)


@pytest.mark.skipif(not read_waits(), reason="this system does not say how long a thread waits for a core")
@pytest.mark.usefixtures("a_busy_core")
def test_a_thread_beside_four_others_has_a_fifth_of_the_time() -> None:
    clock, start = WorkingClock(lambda: time.monotonic()), time.monotonic()
    clock.read_waits = lambda: {THIS_THREAD: read_waits()[THIS_THREAD]}  # the four are children of this thread, and wait as well
    clock.waits, began = dict(clock.read_waits()), clock()
    while time.monotonic() - start < 2:
        clock()
    assert clock() - began < 0.6 * (time.monotonic() - start)
