"""What is being tried while a run goes on, and how far it is. Only where pytest shows dots: -v has a line for each test."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from ..trials.collection import is_law

INTERVAL_SECONDS = {True: 10.0, False: 60.0}  # seconds from line to line, on a terminal and in a log


class ProgressLines:
    """Plain lines in a stream that pytest owns: nothing is overwritten, and under pytest-xdist the controller prints them."""

    def __init__(self, config: pytest.Config, clock: Callable[[], float] = time.monotonic):
        self.config, self.clock = config, clock
        self.start = self.last = clock()
        self.tried = self.failed = 0

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tried += report.when == "call" or (report.when == "setup" and not report.passed)
        self.failed += report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        terminal: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None or self.config.get_verbosity() or self.clock() - self.last < INTERVAL_SECONDS[bool(terminal.isatty)]:
            return
        self.last = self.clock()
        if is_law(self.config, location) and (text := self.line(nodeid)):
            terminal.ensure_newline()
            if self.config.get_terminal_writer().width_of_current_line:  # the workers' dots
                terminal.line("")
            terminal.write_line(text)

    def line(self, nodeid: str) -> str:
        what, total = _describe_node(nodeid), self.session.testscollected
        if not what or not total:
            return ""
        gone = self.clock() - self.start
        parts = [f"{self.tried} of {total} done", f"{self.failed} failed" if self.failed else "", f"{_format_minutes(gone)} gone"]
        if self.tried >= total / 10:
            parts.append(f"about {_format_minutes(gone * (total - self.tried) / self.tried)} to go")
        return f"  now {what}: {', '.join(filter(None, parts))}"


def _describe_node(nodeid: str) -> str:
    """The invariant and the dtype."""
    found = re.search(r"test_(\w+)\.py::test_(\w+)\[(.*)\]$", nodeid)
    if not found:
        return ""
    module, law, trial = found.groups()
    subject = trial.partition("-")[0] if module.startswith("every_") else module.partition("__")[0]
    return f"{subject}.{law} in {trial.rpartition('-')[2]}"


def _format_minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
