"""A pytest plugin that prints each cause of failures once, when it is found, and the verdict at the end of the run.

Under pytest-xdist it works in the controller, which receives the reports of all workers: each finds its own causes, and those
with the same key are one. Failures that have causes are left out of pytest's section FAILURES and of its short summary, because
they would repeat what was said. Other failures are printed as always, such as an exception inside the suite.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest

from ..report.closing import format_closing
from ..trials.mending import split_key
from .completeness import find_cuts
from .makereport import CAUSES_ATTRIBUTE

MAX_ITEMS_IN_FULL = 20  # a run of at most so many tests prints whole messages


class CausePrinter:
    """The plugin. `told` has the records of the causes that were printed, by backend and key."""

    def __init__(self, config: pytest.Config, verdicts: list[dict[str, Any]]):
        self.config, self.verdicts = config, verdicts
        self.told: dict[tuple[str, str], dict[str, Any]] = {}

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session

    @property
    def is_full(self) -> bool:
        """Whether messages are printed whole: in a run of few tests, in one that stops at the first failure, and with -v."""
        few = self.session.testscollected <= MAX_ITEMS_IN_FULL
        return few or self.config.getoption("maxfail") == 1 or self.config.get_verbosity() > 0

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.failed or not is_ours(report):
            return
        for cause in json.loads(getattr(report, CAUSES_ATTRIBUTE, "[]")):
            key = (cause["backend"], cause["key"])
            if key not in self.told and not self._is_told_exception(cause):
                self.told[key] = cause
                self._print(len(self.told), cause, report.sections)

    def _is_told_exception(self, cause: dict[str, Any]) -> bool:
        """Whether another worker has told the exception, of the same operation or at the same place."""
        if cause["kind"] != "exception":
            return False
        names = split_key(cause["key"])
        return any(backend == cause["backend"] and names & split_key(key) for backend, key in self.told)

    def _print(self, number: int, cause: dict[str, Any], captured: list[tuple[str, str]]) -> None:
        terminal: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None or terminal.no_summary or self.config.getoption("tbstyle") == "no":
            return
        terminal.ensure_newline()
        if self.config.get_terminal_writer().width_of_current_line:  # the dots of the workers
            terminal.line("")
        terminal.write_line(f"cause {number}: {cause['operation']}: {cause['what']}", red=True, bold=True)
        for line in cause["text" if self.is_full else "short"].splitlines():
            terminal.write_line(line)
        for title, text in captured if self.is_full and self.config.getoption("showcapture") != "no" else ():
            terminal.write_sep("-", title)
            terminal.write_line(text.rstrip("\n"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        """Print the summary without the failures whose causes are printed already, and then the verdict."""
        stats = terminalreporter.stats
        failed = stats.get("failed", [])
        others = [report for report in failed if not has_causes(report)]
        if len(others) < len(failed):
            stats["failed"] = others
        try:
            return (yield)
        finally:
            if len(others) < len(failed):
                stats["failed"] = failed
            self._close(terminalreporter)

    def _close(self, terminal: Any) -> None:
        cuts = find_cuts(self.config)
        if not (self.verdicts or cuts) or terminal.no_summary:
            return
        terminal.section("verdict")
        for line in format_closing(self.verdicts, self.told, cuts):
            terminal.write_line(line)


def is_ours(report: Any) -> bool:
    """Whether a report is the verdict on a law."""
    return any(key == "spec_tests" for key, _ in getattr(report, "user_properties", ()))


def has_causes(report: Any) -> bool:
    """Whether a report is of a law that failed from causes, each of which is printed when it is found."""
    return is_ours(report) and hasattr(report, CAUSES_ATTRIBUTE)
