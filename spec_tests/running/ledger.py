"""The suite's own record of which laws should be judged and how each was, against which the reports of pytest are checked.

A conftest.py or a plugin of another project can remove laws, skip them, or change what is reported. What changes outcomes fails
the run, with a sentence. This module makes a pytest plugin; a worker of pytest-xdist sends its record to the controller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

from .selected_paths import find_selection

OUTPUT_KEY = "spec_tests_ledger"  # key of `workeroutput`
OWN_MARKS = frozenset({"parametrize", "hypothesis"})  # that laws have from pytest and Hypothesis
BAD_STATUSES = (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR)
MAX_NAMED = 3  # laws that a sentence names


class Ledger:
    """What was collected, what was left out and by whom, how each law was judged, and what pytest reported."""

    def __init__(self, config: pytest.Config):
        self.config = config
        self.files: set[str] = set()  # names of the files of laws that were collected
        self.collected: list[str] = []  # nodes of the laws, as pytest made them
        self.deselected: set[str] = set()
        self.due: list[str] = []  # nodes of the laws that are left to run
        self.missing_files: list[str] = []  # files of laws of which nothing was collected
        self.marks: Counter[str] = Counter()  # marks of others on laws
        self.outcomes: dict[str, str] = {}  # how each law was judged, by its node
        self.errors: dict[str, BaseException] = {}  # what was raised by those that failed
        self.reported: dict[str, str] = {}  # the outcome that pytest reports, by the node
        self.skip_reasons: dict[str, str] = {}
        self.has_lost_worker = False  # whether a worker ended without sending its record
        self.complaints: list[str] = []  # at the end: what others have changed
        self.shortfall = ""  # at the end: which required operations are untried

    def record(self, node: str, outcome: str, error: BaseException | None = None) -> None:
        """Record how a law was judged."""
        self.outcomes[node] = outcome
        if error is not None:
            self.errors[node] = error

    # --- collection -----------------------------------------------------------------------------------------------------

    def add(self, item: pytest.Item, *, is_needed: bool) -> None:
        """Note a law that pytest has made, and whether it should run."""
        self.files.add(item.path.name)
        if is_needed:
            self.collected.append(item.nodeid)

    def pytest_deselected(self, items: Iterable[pytest.Item]) -> None:
        self.deselected.update(item.nodeid for item in items)

    def finish_collection(self, items: Iterable[pytest.Item], find_needed_files: Callable[[], Iterable[Path]]) -> None:
        """Note which laws are left, and which marks of others they have. `items` are the laws among the items.

        A run of the whole suite must collect laws of each file that it needs.
        """
        items = list(items)
        self.due = [item.nodeid for item in items]
        self.marks.update(mark.name for item in items for mark in item.iter_markers() if mark.name not in OWN_MARKS)
        if not find_selection(self.config):
            self.missing_files = [path.name for path in find_needed_files() if path.name not in self.files]

    def find_removed(self) -> list[str]:
        """Return the nodes of the laws that are left out, and that no option and no resumed report leaves out."""
        due = {*self.due}
        left_out = [node for node in self.collected if node not in due]
        resuming = self.config.pluginmanager.get_plugin("spec_tests.resuming")
        done: set[str] = getattr(resuming, "done", set())
        allowed = self.deselected if find_selection(self.config) or not self._has_local_selection() else done
        return [node for node in left_out if node not in allowed]

    def _has_local_selection(self) -> bool:
        """Whether a conftest.py, or another plugin that is not installed as one, selects among the items."""
        return any(hasattr(plugin, "pytest_collection_modifyitems") for plugin in find_local_plugins(self.config))

    # --- the reports ----------------------------------------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            self.reported[report.nodeid] = (
                "failed" if "failed" in (report.outcome, self.reported.get(report.nodeid)) else report.outcome
            )
        if report.skipped and report.when == "setup":
            text = report.longrepr[2] if isinstance(report.longrepr, tuple) else getattr(report, "wasxfail", "")
            self.skip_reasons[report.nodeid] = str(text).removeprefix("Skipped: ")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """Take over the record of a worker."""
        sent = getattr(node, "workeroutput", {}).get(OUTPUT_KEY)
        self.has_lost_worker |= not sent
        if sent:
            self.collected, self.due, self.missing_files = sent["collected"], sent["due"], sent["missing_files"]
            self.deselected |= {*sent["deselected"]}
            self.marks = Counter(sent["marks"])
            for name, outcome in sent["outcomes"].items():
                if self.outcomes.get(name) != "failed":
                    self.outcomes[name] = outcome

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            names = ("collected", "due", "missing_files", "outcomes")
            output[OUTPUT_KEY] = {name: getattr(self, name) for name in names}
            output[OUTPUT_KEY] |= {"deselected": sorted(self.deselected), "marks": dict(self.marks)}
        result = yield
        self.repair_status(session)
        return result

    def repair_status(self, session: pytest.Session) -> None:
        """Set the exit status of a failed run again, if another plugin has set it to success."""
        failed = self.complaints or self.shortfall or "failed" in self.outcomes.values()
        if session.exitstatus == pytest.ExitCode.OK and failed:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if exit_status := self.config.pluginmanager.get_plugin("spec_tests.exit_status"):
            exit_status.status = int(session.exitstatus)

    def finish(self, session: pytest.Session, untried: list[str]) -> None:
        """Fail the run if others have changed what was judged or reported, or if required operations are untried.

        What ended it otherwise keeps its own status.
        """
        self.complaints = self.find_complaints(session)
        self.shortfall = self._describe_untried(session, untried)
        if (self.complaints or self.shortfall) and session.exitstatus not in BAD_STATUSES:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if recorder := self.config.pluginmanager.get_plugin("spec_tests.report"):
            for complaint in self.complaints:
                recorder.write_error("", "another project", complaint)
            if self.shortfall:
                recorder.write_error("", "selection", self.shortfall)

    def write_summary(self, terminal: Any) -> None:
        """Write what others have added and changed at the end of the run."""
        if self.marks and not terminal.no_summary:
            marks = ", ".join(f"{name} on {count}" for name, count in sorted(self.marks.items()))
            terminal.write_line(f"marks of another project on laws: {marks}")
        for complaint in self.told_complaints:
            terminal.write_line(f"ERROR: {complaint}", red=True)

    @property
    def told_complaints(self) -> list[str]:
        """What fails the run besides its laws, each in a sentence."""
        return [*self.complaints, *([self.shortfall] if self.shortfall else [])]

    def find_complaints(self, session: pytest.Session) -> list[str]:
        """Return what others have changed, each in a sentence. A run that was stopped need not have judged all laws."""
        complaints, was_stopped = [], _was_stopped(session)
        if self.missing_files and not was_stopped:
            complaints.append(f"nothing was collected of {_count(self.missing_files, 'file')}: a plugin or a setting hides it")
        if removed := self.find_removed():
            complaints.append(f"{_name(removed)} removed by a conftest.py or a plugin of another project")
        judged_last = next(reversed(self.outcomes), "")
        cut = judged_last if was_stopped and judged_last not in self.reported else ""  # before pytest had its report
        changed = [
            n for n, outcome in self.outcomes.items() if outcome == "failed" and self.reported.get(n) != "failed" and n != cut
        ]
        if changed:
            complaints.append(
                f"{_name(changed)} found to fail, and reported otherwise by a conftest.py or a plugin of another project"
            )
        unjudged = [n for n in self.due if n not in self.outcomes and self.reported.get(n) != "failed"]
        if was_stopped or self.has_lost_worker or self._runs_nothing:  # then laws may be left, or their records be lost
            unjudged = [n for n in unjudged if n in self.skip_reasons]
        if unjudged:
            reasons = {self.skip_reasons[n] for n in unjudged if self.skip_reasons.get(n)}
            why = f" ({', '.join(sorted(reasons)[:MAX_NAMED])})" if reasons else ""
            complaints.append(f"{_name(unjudged)} not tried, because of a mark, a fixture or a plugin of another project{why}")
        return complaints

    def _describe_untried(self, session: pytest.Session, operations: list[str]) -> str:
        """Return one sentence on required operations of which nothing was tried. A run that was stopped need not try all."""
        if not operations or _was_stopped(session) or self.has_lost_worker or self._runs_nothing:
            return ""
        names = ", ".join(operations)
        return f"--require={names.replace(' ', '')}: no law of {names} was tried; select some of their laws, or require less"

    @property
    def _runs_nothing(self) -> bool:
        """Whether pytest is asked to run no test."""
        return any(self.config.getoption(name, False) for name in ("collectonly", "setuponly", "setupplan"))


def _was_stopped(session: pytest.Session) -> bool:
    return bool(session.shouldstop or session.shouldfail) or session.exitstatus not in (0, 1, 5)


def _name(nodes: list[str]) -> str:
    """Return how many laws these are, with the names of the first ones, and the verb."""
    return f"{_count(nodes, 'law')} {'was' if len(nodes) == 1 else 'were'}"


def _count(names: list[str], noun: str) -> str:
    shown = ", ".join(name.rpartition("::")[2] for name in names[:MAX_NAMED])
    return f"{len(names)} {noun}{'s' * (len(names) != 1)} ({shown}{', …' if len(names) > MAX_NAMED else ''})"


def find_local_plugins(config: pytest.Config) -> list[Any]:
    """Return the plugins that neither come with pytest or with this suite, nor are installed: conftest.py, and modules of -p."""
    installed = [plugin for plugin, _ in config.pluginmanager.list_plugin_distinfo()]
    return [plugin for plugin in config.pluginmanager.get_plugins() if plugin not in installed and not _is_of_pytest(plugin)]


def _is_of_pytest(plugin: Any) -> bool:
    """Whether the plugin comes with pytest, with its parallel runs or with this suite."""
    module = getattr(plugin, "__name__", None) or type(plugin).__module__
    return str(module).partition(".")[0] in ("_pytest", "pytest", "spec_tests", "xdist")
