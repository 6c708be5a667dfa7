"""Lines on the progress of a run: what is being tested, and how much is done.

They are printed only where pytest shows dots. With -v pytest itself prints a line for each test.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from ..implementation.facilities import describe_lesser_guarantees
from ..processes.command import names_process
from ..trials.collection import is_law
from .collected import find_untryable
from .options import read_option

INTERVAL_SECONDS = MappingProxyType({True: 10.0, False: 60.0})  # between two lines, on a terminal (True) and in a log (False)


class ProgressLines:
    """A pytest plugin that prints the lines. It overwrites nothing, and under pytest-xdist it works in the controller."""

    def __init__(self, config: pytest.Config, clock: Callable[[], float] = time.monotonic):
        self.config, self.clock = config, clock
        self.started_at = self.last_line_at = clock()
        self.done = self.failed = 0
        self.untried: set[str] | None = None  # node ids of tests that will be skipped; None: not known yet

    def pytest_report_header(self) -> list[str]:
        """Say what this system cannot guarantee."""
        in_processes = read_option(self.config, "isolate") or any(map(names_process, read_option(self.config, "backend")))
        return [f"spec_tests: {sentence}" for sentence in describe_lesser_guarantees(in_processes=in_processes)]

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.done += report.when == "call" or (report.when == "setup" and not report.passed)
        self.failed += report.failed
        if report.when == "call" and not report.skipped and self._has_workers:
            self._print_line("tested", report.nodeid, report.location)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        if not self._has_workers and self._is_due and nodeid not in self._find_untried():
            self._print_line("testing", nodeid, location)

    @property
    def _has_workers(self) -> bool:
        """Whether workers run the tests. This process then knows of a test what it is only when it is done."""
        return self.config.getoption("dist", "no") != "no"

    @property
    def _is_due(self) -> bool:
        terminal: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        shows_dots = terminal is not None and not self.config.get_verbosity()
        return shows_dots and self.clock() - self.last_line_at >= INTERVAL_SECONDS[bool(terminal.isatty)]

    def _find_untried(self) -> set[str]:
        if self.untried is None:
            self.untried = find_untryable(self.session.items)
        return self.untried

    def _print_line(self, verb: str, nodeid: str, location: tuple[str, int | None, str]) -> None:
        if not (self._is_due and is_law(self.config, location) and (text := self.format_line(nodeid, verb))):
            return
        self.last_line_at = self.clock()
        terminal: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        terminal.ensure_newline()
        if self.config.get_terminal_writer().width_of_current_line:  # the dots of the workers
            terminal.line("")
        terminal.write_line(text)

    def format_line(self, nodeid: str, verb: str = "testing") -> str:
        """Return the line for a test, or "" if the number of tests is not known."""
        law, total = _describe_node(nodeid), self.session.testscollected
        if not law or not total:
            return ""
        elapsed = self.clock() - self.started_at
        parts = [f"{self.done} of {total} tests done"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        parts.append(f"{_format_minutes(elapsed)} elapsed")
        if self.done >= total / 10:
            parts.append(f"about {_format_minutes(elapsed * (total - self.done) / self.done)} left")
        return f"  {verb} {law}: {', '.join(parts)}"


def _describe_node(nodeid: str) -> str:
    """Return the invariant and the dtype of a test in words, or "" if the test is no law."""
    found = re.search(r"test_(\w+)\.py::test_(\w+)\[(.*)\]$", nodeid)
    if not found:
        return ""
    module, law, trial = found.groups()
    operation = trial.partition("-")[0] if module.startswith("every_") else module.partition("__")[0]
    return f"{operation}.{law} in {trial.rpartition('-')[2]}"


def _format_minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
