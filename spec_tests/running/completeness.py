"""A pytest plugin that finds out whether every selected law was tried, or declined by the suite, and what cut the run if not.

Under pytest-xdist it works in the controller, which receives the reports of all workers.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from ..report.cut import Cut
from ..report.verdict import RecordedVerdict
from ..trials.collection import SUITE, is_law_file
from .collected import find_untryable
from .reported import find_verdict

LAST_PHASES = ("setup", "call", "teardown")  # a report of another phase is of a test during which a worker ended
RUNS_NOTHING = ("collectonly", "setuponly", "setupplan")  # options of pytest


class Completeness:
    """The plugin. `find` says of each backend whose laws were not all tried how that came."""

    def __init__(self, config: pytest.Config):
        self.config = config
        self.due: dict[str, str] = {}  # the backends of the laws that are left to run, by their nodes
        self.judged: dict[str, str] = {}  # the backends of the laws that have a verdict, by their nodes
        self.cuts: dict[str, str] = {}  # why laws were not tried to their end, by their nodes
        self.running: dict[str, None] = {}  # nodes of laws that have begun and not ended
        self.lost_with_worker: list[str] = []  # nodes of laws during which a worker ended
        self.interruption = ""  # what interrupted the run
        self.lacking: set[str] | None = None  # nodes of laws of operations that a backend lacks; None: not known
        self.laws: Counter[tuple[str, str]] | None = None  # how many laws are due, by their operation and backend

    # --- as the run goes ------------------------------------------------------------------------------------------------

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._add_due([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self._add_due(ids)

    def _add_due(self, nodes: list[str]) -> None:
        paths = {node.partition("::")[0] for node in nodes}
        ours = {path for path in paths if self._is_ours(path)}
        for node in nodes:
            if node.partition("::")[0] in ours and (backend := find_backend(node)):
                self.due[node] = backend

    def _is_ours(self, path: str) -> bool:
        """Whether the path in a node is of a file of laws. pytest leaves the folders out where they are not those of the run."""
        here = self.config.rootpath / path
        return is_law_file(here if here.exists() else SUITE / path)

    def keep_verdicts(self, verdicts: list[RecordedVerdict]) -> None:
        """Count the laws that have a verdict from the run that this one continues."""
        self.judged |= {verdict.node: verdict.backend for verdict in verdicts}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.running[nodeid] = None

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.running.pop(nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when not in LAST_PHASES:
            self.lost_with_worker.append(report.nodeid)
        if report.when == "setup" and not report.passed:
            self.cuts[report.nodeid] = "a skip of another project" if report.skipped else "an error in a fixture or a hook"
        if (verdict := find_verdict(report)) is None:
            return
        if verdict.cut:
            self.cuts.setdefault(report.nodeid, verdict.cut)
        else:
            self.judged[report.nodeid] = verdict.backend

    def pytest_internalerror(self) -> None:
        self.interruption = "an internal error"

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        error = excinfo.value
        if isinstance(error, pytest.exit.Exception):
            self.interruption = f"pytest.exit ({error.msg})"
        elif type(error) is KeyboardInterrupt:
            self.interruption = str(error) or "SIGINT"
        else:  # pytest and pytest-xdist derive exceptions of their own from it
            self.interruption = self._name_stop(str(error))

    def _name_stop(self, text: str) -> str:
        """Return what pytest or one of its plugins was asked for, or its own words."""
        count = self.config.getoption("maxfail", 0)
        if count and text.startswith("stopping after"):
            return f"--maxfail={count}"
        return f'"{text}"'

    # --- at its end -----------------------------------------------------------------------------------------------------

    def find(self) -> dict[str, Cut]:
        """Return how the run was cut, by the backends whose laws were not all tried."""
        if any(self.config.getoption(name, False) for name in RUNS_NOTHING):
            return {}
        open_laws = {node: backend for node, backend in self.due.items() if node not in self.judged}
        return {backend: self._describe(backend, open_laws) for backend in dict.fromkeys(open_laws.values())}

    def _describe(self, backend: str, open_laws: dict[str, str]) -> Cut:
        own = [node for node, other in open_laws.items() if other == backend]
        judged = sum(other == backend for other in self.judged.values())
        lost = [node for node in own if node in self.lost_with_worker]
        at = next((node for node in (*lost, *self.running) if node in own), "")
        by = next((self.cuts[node] for node in own if node in self.cuts), "")
        by = by or self.interruption or ("the end of a worker" if lost else "")
        stop = self.session.shouldfail or self.session.shouldstop
        by = by or (self._name_stop(str(stop)) if stop else "")
        untried = tuple(sorted({parts[0] for node in own if (parts := _split(node)) and not self._says_absent(node)}))
        return Cut(by, describe_law(at) if at else "", judged, judged + len(own), untried)

    def _says_absent(self, node: str) -> bool:
        """Whether the law would only say that the backend lacks its operation.

        Where workers have the backends, it is taken for such a law if it is the only one of its operation, and a comparison
        with the oracle.
        """
        items: list[pytest.Item] = getattr(self.session, "items", [])
        if self.lacking is None and items:
            self.lacking = find_untryable(items)
        if self.lacking is not None:
            return node in self.lacking
        if self.laws is None:
            self.laws = Counter((parts[0], parts[2]) for other in self.due if (parts := _split(other)))
        operation, law, backend, _ = _split(node) or ("", "", "", "")
        return law == "reference" and self.laws[operation, backend] == 1

    def finish(self, session: pytest.Session) -> None:
        """Give a run that was cut, and in which nothing failed, the exit status of an interrupted one."""
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and self.find():
            session.exitstatus = pytest.ExitCode.INTERRUPTED


def _split(node: str) -> tuple[str, str, str, str] | None:
    """Return the operation, the law, the backend and the dtype of a law's node."""
    found = re.search(r"test_(\w+)\.py::test_(\w+)\[(.*)-(\w+)\]$", node)
    if not found:
        return None
    module, law, trial, dtype = found.groups()
    if module.startswith("every_"):
        operation, _, backend = trial.partition("-")
        return operation, law, backend, dtype
    return module.partition("__")[0], law, trial, dtype


def find_backend(node: str) -> str:
    """Return the backend of a law, "" if the node is of another test."""
    parts = _split(node)
    return parts[2] if parts else ""


def describe_law(node: str) -> str:
    """Return the law and its dtype in words."""
    parts = _split(node)
    return f"{parts[0]}.{parts[1]} ({parts[3]})" if parts else node


def find_cuts(config: pytest.Config) -> dict[str, Cut]:
    """Return how the run was cut, by backend; {} if it was not."""
    plugin = config.pluginmanager.get_plugin("spec_tests.completeness")
    return plugin.find() if plugin is not None else {}
