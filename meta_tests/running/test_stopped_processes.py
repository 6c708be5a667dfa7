"""Test that the time in which the suite is stopped, as by Ctrl-Z or with its container, is none of a call's time."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spec_tests.implementation import step_under_way
from spec_tests.implementation.outside_clock import OutsideClock
from spec_tests.implementation.step_under_way import BEAT_SECONDS, LONGEST_BEAT_SECONDS, StepUnderWay
from spec_tests.processes import deadline
from spec_tests.processes.deadline import LONGEST_WAIT_SECONDS, Deadline

from ..support.paths import ROOT
from ..support.pytest_process import NUMPY, environment, write

STOPPED_SECONDS = 5.0
SLOW = """
import time
from pathlib import Path

def relu(x):
    if not Path("begun").exists():
        Path("begun").touch()
        time.sleep(0.2)
    return np.maximum(x, 0)
"""

WATCHED = """
import time
from spec_tests.implementation.outside_clock import OutsideClock

clock = OutsideClock()
clock.start()
while not (before := clock.seconds()):
    time.sleep(0.05)
print(before, flush=True)
input()
print(clock.seconds() - before, flush=True)
"""


class Clocks(OutsideClock):
    """The clocks of a process and the clock outside of it, which a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: object) -> None:
        self.now = self.cpu = 100.0
        self.counted, self.is_started = 0.0, False
        monkeypatch.setattr(module, "time", self)

    def monotonic(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.cpu

    def start(self) -> None:
        self.is_started = True

    def seconds(self) -> float:
        return self.counted

    def wait_with_the_lock(self, seconds: float) -> None:
        """Pass some time in which C code waits and holds the GIL: only the clock outside goes on, if it was started."""
        self.now += seconds
        self.counted += seconds * self.is_started

    def run(self, step: StepUnderWay, seconds: float, *, cpu: float = 0.0) -> None:
        """Pass some time in which the process beats."""
        for _ in range(int(seconds / BEAT_SECONDS)):
            self.now += BEAT_SECONDS
            self.cpu += cpu * BEAT_SECONDS
            step.beat()


def test_a_stop_is_none_of_the_time_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks(monkeypatch, step_under_way)
    step = StepUnderWay(clocks)
    step.beat()
    with step.timed(10.0):
        clocks.run(step, 2.0, cpu=1.0)
        assert step.time_left() == pytest.approx(8.0)
        clocks.now += 3600  # Ctrl-Z
        assert step.time_left() == pytest.approx(8.0 - BEAT_SECONDS)
        clocks.run(step, 7.0)  # it sleeps
        assert not step.is_stuck(1.0)
        assert 0 < step.time_left() < 1
        clocks.run(step, 12.0)
        assert step.is_stuck(1.0)


def test_code_that_keeps_all_threads_waiting_and_works_is_not_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks(monkeypatch, step_under_way)
    step = StepUnderWay(clocks)
    step.beat()
    with step.timed(10.0):
        clocks.now, clocks.cpu = clocks.now + 30, clocks.cpu + 30
        assert step.time_left() < -19


def test_code_that_keeps_all_threads_waiting_is_a_stop_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks(monkeypatch, step_under_way)
    step = StepUnderWay(clocks)
    step.beat()
    with step.timed(10.0):
        clocks.wait_with_the_lock(30)
        assert step.time_left() == pytest.approx(10.0 - BEAT_SECONDS)
        clocks.wait_with_the_lock(30)
        assert step.time_left() < -20
    with step.timed(10.0):
        clocks.now += 3600  # Ctrl-Z stops the clock outside, too
        assert step.time_left() == pytest.approx(10.0 - BEAT_SECONDS)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
def test_the_clock_outside_stands_still_while_the_process_is_stopped() -> None:
    with subprocess.Popen([sys.executable, "-c", WATCHED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        assert float(process.stdout.readline()) > 0
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(STOPPED_SECONDS)
        os.kill(process.pid, signal.SIGCONT)
        process.stdin.write("\n")
        process.stdin.flush()
        counted = float(process.stdout.readline())
    assert 0 <= counted <= STOPPED_SECONDS - LONGEST_BEAT_SECONDS


def test_a_deadline_passes_as_fast_as_the_process_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, limit = Clocks(monkeypatch, deadline), Deadline(10.0)
    clocks.now += 1
    assert limit.left() == 9
    clocks.now += 3600
    assert limit.left() == 9 - LONGEST_WAIT_SECONDS
    for _ in range(8):
        clocks.now += 1
        limit.left()
    assert limit.left() < 0


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system stops no process")
@pytest.mark.rotating
def test_a_step_may_end_while_another_thread_asks_for_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    step = StepUnderWay()
    monkeypatch.setattr(step, "beat", lambda: setattr(step, "_since", None))
    step._beat = (0.0, 0.0, 0.0)
    with step.timed(3.0):
        assert step.time_left() == 0.0
        assert not step.is_stuck(1.0)


@pytest.mark.parametrize("isolation", [(), ("--isolate",)], ids=["in one process", "isolated"])
def test_a_run_that_is_stopped_in_a_call_blames_nobody(tmp_path: Path, isolation: tuple[str, ...]) -> None:
    write(tmp_path, mine=NUMPY + SLOW)
    words = ("--backend=mine.py", "-k", "relu.reference", "--effort=smoke", "--time-limit=2", *isolation)
    command = [sys.executable, "-m", "pytest", "-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests"]
    with subprocess.Popen(
        [*command, *words], cwd=tmp_path, env=environment(ROOT), stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        while not (tmp_path / "begun").exists():
            assert run.poll() is None
            time.sleep(0.01)
        stopped = [run.pid, *list_children(run.pid)]
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        time.sleep(STOPPED_SECONDS)
        for process in reversed(stopped):
            os.kill(process, signal.SIGCONT)
        text = run.communicate()[0]
    assert len(stopped) == 1 + len(isolation)
    assert run.returncode == 0, text


def list_children(process: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False).stdout
    return [int(word) for word in listed.split()]
