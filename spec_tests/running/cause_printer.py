"""A pytest plugin that prints each cause of failures once, when it is found, and the verdict at the end of the run.

Under pytest-xdist it works in the controller, which receives the reports of all workers: each finds its own causes, and those
with the same key are one. Failures that have causes are left out of pytest's section FAILURES and of its short summary, because
they would repeat what was said. Other failures are printed as always, such as an exception inside the suite.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from ..report.closing import format_closing
from ..report.verdict import ToldCause, Verdict
from .completeness import find_cuts
from .reported import find_causes

MAX_ITEMS_IN_FULL = 20  # a run of at most so many tests prints whole messages


class CausePrinter:
    """The plugin. `told` has the causes that were printed."""

    def __init__(self, config: pytest.Config, verdicts: list[Verdict]):
        self.config, self.verdicts = config, verdicts
        self.told: list[ToldCause] = []

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session

    @property
    def is_full(self) -> bool:
        """Whether messages are printed whole: in a run of few tests, in one that stops at the first failure, and with -v."""
        few = self.session.testscollected <= MAX_ITEMS_IN_FULL
        return few or self.config.getoption("maxfail") == 1 or self.config.get_verbosity() > 0

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for told in (find_causes(report) or []) if report.failed else ():
            if not any(self._is_same(told, other) for other in self.told):
                self.told.append(told)
                self._print(len(self.told), told, report.sections)

    @staticmethod
    def _is_same(one: ToldCause, other: ToldCause) -> bool:
        """Whether two workers tell one cause. One exception may be told of several operations, if it is raised at one place."""
        is_exception = one.cause.kind == "exception"
        is_same = one.cause.is_same(other.cause) if is_exception else one.cause.names == other.cause.names
        return one.backend == other.backend and is_same

    def _print(self, number: int, told: ToldCause, captured: list[tuple[str, str]]) -> None:
        terminal: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None or terminal.no_summary or self.config.getoption("tbstyle") == "no":
            return
        terminal.ensure_newline()
        if self.config.get_terminal_writer().width_of_current_line:  # the dots of the workers
            terminal.line("")
        terminal.write_line(f"cause {number}: {told.cause.operation}: {told.cause.what}", red=True, bold=True)
        for line in (told.text if self.is_full else told.short).splitlines():
            terminal.write_line(line)
        for title, text in captured if self.is_full and self.config.getoption("showcapture") != "no" else ():
            terminal.write_sep("-", title)
            terminal.write_line(text.rstrip("\n"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        """Print the summary without the failures whose causes are printed already, and then the verdict."""
        stats = terminalreporter.stats
        failed = stats.get("failed", [])
        others = [report for report in failed if find_causes(report) is None]
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
        is_kept, ledger = bool(self.config.getoption("spec_report")), self.config.pluginmanager.get_plugin("spec_tests.ledger")
        complaints = ledger.told_complaints if ledger else ()
        for line in format_closing(self.verdicts, self.told, cuts, is_kept=is_kept, complaints=complaints):
            terminal.write_line(line)
