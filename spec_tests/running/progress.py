"""Lines on the progress of a run: what is being tried, and how much is done.

They are printed only where pytest shows dots. With -v pytest itself prints a line for each test.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from ..trials.collection import is_law

INTERVAL_SECONDS = {True: 10.0, False: 60.0}  # between two lines between two lines, on a terminal (True) and in a log (False)


class ProgressLines:
    """A pytest plugin that prints the lines. It overwrites nothing, and under pytest-xdist it works in the controller."""

    def __init__(self, config: pytest.Config, clock: Callable[[], float] = time.monotonic):
        self.config, self.clock = config, clock
        self.started_at = self.last_line_at = clock()
        self.tried = self.failed = 0

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tried += report.when == "call" or (report.when == "setup" and not report.passed)
        self.failed += report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        terminal: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if (
            terminal is None
            or self.config.get_verbosity()
            or self.clock() - self.last_line_at < INTERVAL_SECONDS[bool(terminal.isatty)]
        ):
            return
        self.last_line_at = self.clock()
        if is_law(self.config, location) and (text := self.format_line(nodeid)):
            terminal.ensure_newline()
            if self.config.get_terminal_writer().width_of_current_line:  # the dots of the workers
                terminal.line("")
            terminal.write_line(text)

    def format_line(self, nodeid: str) -> str:
        """Return the line for the test that starts, or "" if the number of tests is not known."""
        trial, total = _describe_node(nodeid), self.session.testscollected
        if not trial or not total:
            return ""
        elapsed = self.clock() - self.started_at
        parts = [f"{self.tried} of {total} done"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        parts.append(f"{_format_minutes(elapsed)} gone")
        if self.tried >= total / 10:
            parts.append(f"about {_format_minutes(elapsed * (total - self.tried) / self.tried)} to go")
        return f"  now {trial}: {', '.join(parts)}"


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
