"""A pytest plugin that ends a run whose backend never returns to Python, after it has written the verdict so far.

A signal interrupts Python code only: where the main thread waits in C, as for a kernel that never ends, nothing but another
thread can write what is known. Where C code keeps that thread from running, too, Python's faulthandler says where the call waits,
and ends the process. This is a safety net, which rests on a clock, and which says so. A backend in a process of its own needs
none: its calls are ended from outside.
"""

from __future__ import annotations

import faulthandler
import sys
import threading
from os import _exit, dup, write
from typing import TYPE_CHECKING, Any, Literal

import pytest

from ..calls.history import note_loss
from ..calls.violation import Lost, from_fault
from ..implementation.framework import Framework
from ..implementation.guard import Fault, timeout_fault
from ..implementation.step_under_way import BEAT_SECONDS, step_under_way
from ..specification.run_settings import current_settings
from ..trials.first_failure import cause_search

if TYPE_CHECKING:
    from ..trials.invariant import Invariant
    from ..trials.trial import Trial

MIN_GRACE_SECONDS = 10.0  # beyond the limit of a call, in which the main thread may still come back to Python
CUT = "a call that never returned"
ENDED = "the call has not come back to Python since, so that the run ends here; with --isolate such a call is ended alone"


class HangWatch:
    """The plugin."""

    def __init__(self, config: pytest.Config):
        self.config, self.over = config, threading.Event()
        self.stderr = dup(2)  # while pytest captures nothing
        self.has_timeout = float(config.getini("faulthandler_timeout") or 0) > 0  # pytest's own, which arms the same timer
        self.item: pytest.Item | None = None
        self.test: Any = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session
        self._set_alarm()  # the first call may begin before the thread runs
        step_under_way.beat()
        threading.Thread(target=self._watch, name="spec_tests hang watch", daemon=True).start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        self.item, self.test = item, getattr(item, "obj", None)  # in its call pytest has another function there

    def pytest_sessionfinish(self) -> None:
        self.over.set()
        if not self.has_timeout:
            faulthandler.cancel_dump_traceback_later()

    def _set_alarm(self) -> None:
        """End the process later, if this is not called again until then: where C code keeps the thread from running."""
        if not self.has_timeout:
            seconds = step_under_way.seconds or current_settings().limits.seconds  # of the next step, which begins unseen
            longest = seconds + 2 * max(MIN_GRACE_SECONDS, seconds)
            faulthandler.dump_traceback_later(longest, exit=True, file=self.stderr)

    def _watch(self) -> None:
        while not self.over.wait(BEAT_SECONDS):
            self._set_alarm()
            step_under_way.beat()
            if step_under_way.is_stuck(MIN_GRACE_SECONDS) and self.item is not None:
                seconds = step_under_way.seconds
                self.over.set()
                try:
                    self._write_verdict(self.item, seconds)
                except BaseException as error:  # the sentence is left, at least
                    write(self.stderr, f"\n{self.item.nodeid}: {timeout_fault(seconds)}; {ENDED} ({error!r})\n".encode())
                finally:
                    for stream in (sys.stdout, sys.stderr):
                        stream.flush()
                    _exit(int(pytest.ExitCode.TESTS_FAILED))

    def _write_verdict(self, item: Any, seconds: float) -> None:
        """Write what a run writes that a call without an answer has ended: it fails the law, and cuts the run."""
        item.obj = self.test
        invariant, trial, manager = item.obj.invariant, item.callspec.params["trial"], self.config.pluginmanager
        if capture := manager.get_plugin("capturemanager"):
            capture.suspend_global_capture(in_=True)
        violation = note_hang(invariant, trial, seconds)
        ledger: Any = manager.get_plugin("spec_tests.ledger")
        ledger.record(item.nodeid, "failed", violation)
        for call in (_make_call_info("call", violation), _make_call_info("teardown")):
            report = item.ihook.pytest_runtest_makereport(item=item, call=call)
            item.ihook.pytest_runtest_logreport(report=report)
        self.session.shouldstop = CUT
        self.session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self.config.hook.pytest_sessionfinish(session=self.session, exitstatus=self.session.exitstatus)


def note_hang(invariant: Invariant, trial: Trial, seconds: float) -> Lost:
    """Make a failure of the call that never returned. Nothing else is asked of the backend: its thread still waits."""
    refuse_calls(trial.backend.framework)
    fault = timeout_fault(seconds)
    fault.facts.append(("then", ENDED))
    violation = from_fault(fault)
    assert isinstance(violation, Lost)
    violation.device_lost = True
    calls = list(trial.recorder.calls)
    if calls:
        note_loss(calls[-1], violation)
    law, operation = invariant.id_for(trial.operation_name), invariant.subject(trial.operation_name)
    failure = cause_search().Failure(law, operation, trial.dtype, violation, calls=calls, last_call=calls[-1] if calls else None)
    trial.tally.failure = failure
    trial.meet(failure)
    return violation


def refuse_calls(framework: Any) -> None:
    """Let every further call of a backend fail at once."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise Fault("an earlier call has never returned", lost=True)

    if isinstance(framework, Framework):
        framework.device_lost = True
        framework.__dict__.update(run_guarded=refuse, native=refuse)


def _make_call_info(when: Literal["call", "teardown"], violation: Lost | None = None) -> pytest.CallInfo[None]:
    """Return what pytest makes of a phase of a test, which raises the violation, if there is one."""

    def run() -> None:
        if violation is not None:
            raise violation

    return pytest.CallInfo.from_call(run, when)
