"""A pytest plugin, which `plugin.py` registers for `--report=DIR`: it writes each verdict as soon as it is known.

Under pytest-xdist it works in the controller, which receives the reports of all workers.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pytest

from ..implementation.search_path import imports_of_judge
from ..report import BADGE, DATA, PAGE, Report, ReportError, format_line, read
from ..report.backend_results import build_results
from ..report.badge import format_badge
from ..report.chain import Chain
from ..report.github_step import format_step_summary
from ..report.page import render_page
from ..report.run_lines import SCHEMA, Footer, Header, RunError, StatedBackend, Totals
from ..report.template import PageUnavailable
from ..report.verdict import RecordedVerdict
from ..specification.run_settings import current_settings
from ..specification.version import SPEC_VERSION, __version__
from ..trials.collection import is_law
from . import resuming
from .completeness import find_cuts
from .options import read_option, split_names
from .report_folder import FolderLock, FolderTaken, replace_file
from .reported import find_details, find_verdict
from .resuming import read_interrupted, select_kept_lines
from .selected_paths import find_selection
from .suite_commit import find_commit

if TYPE_CHECKING:
    from .session import Session

LIBRARIES = ("numpy", "hypothesis", "pytest", "pytest-xdist", "array-api-compat", "ml_dtypes")


class Recorder:
    """The plugin that writes report.jsonl, and at the end of the run the page and the badge.

    `backends` are those that are known when the run starts; others come with the verdicts of the workers. `interrupted` is
    the report that --resume continues.
    """

    def __init__(self, config: pytest.Config, backends: list[StatedBackend] | None = None, interrupted: Report | None = None):
        self.config, self.folder = config, config.invocation_params.dir / (read_option(config, "report") or "")
        self.first_backends, self.written_backends = backends or [], set[str]()
        self.finished_nodes, self.counts, self.examples = set[str](), Counter[str](), 0
        self.stale_count = 0
        self.interrupted = interrupted
        self.reason, self.complaint, self.written_files = "finished", "", [DATA]
        self.written_verdicts: dict[str, tuple[str, int]] = {}  # by node: the status, and the number of examples
        self.started_at = time.monotonic()
        self.chain = Chain()  # of the lines that this run has written into the data
        self.file: BinaryIO | None = None

    def write(self, line: Any) -> None:
        """Write one line, so that it is kept even if the process is killed. After an error nothing more is written."""
        if self.file is None or self.file.closed:
            return
        try:
            _write_all(self.file, self.chain.add(format_line(line)))
        except OSError as error:
            self.file.close()
            self.complaint = f"{DATA} ends before the run does, because it could not be written ({error.strerror or error})"

    def _start_file(self, lines: list[Any]) -> None:
        """Begin the data with these lines. What was there is replaced at once, so that a killed run loses nothing."""
        try:
            for name in (PAGE, BADGE):
                (self.folder / name).unlink(missing_ok=True)  # from an earlier run
            text = b"".join(self.chain.add(format_line(line)) for line in lines).decode("ascii")
            replace_file(self.folder / DATA, text)
            self.file = (self.folder / DATA).open("ab", buffering=0)
        except OSError as error:
            raise build_refusal(self.config, f"nothing can be written there ({error.strerror or error})") from None

    # --- as the run goes --------------------------------------------------------------------------------------------

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session
        self._start_file(select_kept_lines(self.interrupted) if self.interrupted else [build_header(self.config)])
        for verdict in self.interrupted.verdicts if self.interrupted else ():
            self.counts[verdict.status] += 1
            self.written_verdicts[verdict.node] = verdict.status, verdict.examples
            self.examples += verdict.examples
            self.stale_count += bool(verdict.stale)
        self.written_backends |= {backend.name for backend in self.interrupted.backends} if self.interrupted else set()
        self._write_new_backends(self.first_backends)

    def _write_new_backends(self, backends: Sequence[StatedBackend]) -> None:
        for backend in backends:
            if backend.name not in self.written_backends:
                self.written_backends.add(backend.name)
                self.write(backend)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        verdict, details = find_verdict(report), find_details(report)
        if verdict is not None and details is not None:
            self._write_new_backends(details.backends)
            self._write_verdict(details.add_to(verdict, report.nodeid))
        elif report.failed and (is_law(self.config, report.location) or report.when not in ("setup", "call", "teardown")):
            # for the test that a dead worker was running, pytest-xdist sends a report with another `when`
            self.write_error(report.nodeid, report.when or "", str(report.longrepr))
            if report.when not in ("setup", "call", "teardown"):
                self.reason = "a worker died"  # by the backend, or from outside: its test has not come to an end
        if report.when != "setup" or not report.passed:
            self.finished_nodes.add(report.nodeid)

    def _write_verdict(self, verdict: RecordedVerdict) -> None:
        """Write a verdict. With --dist=each several workers judge the same test: a failure counts, else the first verdict."""
        if verdict.node in self.written_verdicts:
            status, examples = self.written_verdicts[verdict.node]
            if verdict.status != "failed" or status == "failed":
                return
            self.counts[status] -= 1
            self.examples -= examples
        self.written_verdicts[verdict.node] = verdict.status, verdict.examples
        self.counts[verdict.status] += 1
        self.examples += verdict.examples
        self.stale_count += bool(verdict.stale)
        self.write(verdict)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.write_error(report.nodeid, "collect", str(report.longrepr))

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.reason = "internal error"
        self.write_error("", "internal", str(excrepr))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        stop = excinfo.value
        if isinstance(stop, KeyboardInterrupt) and not isinstance(stop, pytest.Session.Interrupted):
            self.reason = "interrupted"  # by a person
        else:
            self.reason = "stopped"  # by -x, by pytest.exit(), or by an error of collection

    def write_error(self, node: str, when: str, message: str) -> None:
        """Write an error that is not a verdict: a worker died, or a fixture of another project or the suite itself failed."""
        self.counts["error"] += 1
        self.write(RunError(node=node, when=when, message=message))

    # --- at its end -------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        result = yield
        if ledger := self.config.pluginmanager.get_plugin("spec_tests.ledger"):
            ledger.repair_status(session)
        was_refused = session.exitstatus in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
        if self.reason == "finished" and (was_refused or len(self.finished_nodes) < session.testscollected):
            self.reason = "stopped"
        cuts = find_cuts(self.config)
        if cuts and self.reason == "finished":
            self.reason = "stopped"
        self.write(
            Footer(
                cuts=cuts,
                complete=self.reason == "finished",
                reason=self.reason,
                exit_status=int(session.exitstatus),
                selected=session.testscollected + (len(self.interrupted.verdicts) if self.interrupted else 0),
                totals=Totals.of(self.counts),
                stale=self.stale_count,
                examples=self.examples,
                seconds=round(time.monotonic() - self.started_at, 2),
                sha256=self.chain.hash,
            )
        )
        if self.file is not None:
            self.file.close()
        try:
            with imports_of_judge():
                self._publish()
        except PageUnavailable as error:
            self.complaint = self.complaint or str(error)
        except ReportError as error:  # something else has written into the data
            self.complaint = self.complaint or str(error)
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        except Exception as error:  # the data are written, and the verdict must still be printed
            self.complaint = self.complaint or f"the report could not be finished: {type(error).__name__}: {error}"
        return result

    def _publish(self) -> None:
        """Write the badge, the summary of a GitHub step and the page, from the data in the folder."""
        results = build_results([read(self.folder)])
        replace_file(self.folder / BADGE, format_badge(results))
        self.written_files.append(BADGE)
        if step := os.environ.get("GITHUB_STEP_SUMMARY"):
            with Path(step).open("a", encoding="utf-8") as file:
                file.write(format_step_summary(results))
        replace_file(self.folder / PAGE, render_page(results))
        self.written_files.insert(0, PAGE)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not terminalreporter.no_summary:
            folder = read_option(self.config, "report").rstrip("/")
            terminalreporter.write_line(f"report: {', '.join(f'{folder}/{name}' for name in self.written_files)}")
            if self.complaint:
                terminalreporter.write_line(self.complaint)


def build_recorder(config: pytest.Config, session: Session) -> Recorder:
    """Return the recorder of a run. With workers it learns the backends from them, else from the session."""
    from .recorded_details import state_backends

    has_workers = config.getoption("dist", "no") != "no"
    _lock_folder(config)
    interrupted = read_interrupted(config, build_header(config)) if read_option(config, "resume") else None
    if interrupted is not None:
        resuming.register(config, interrupted)
    backends = [] if has_workers else state_backends(session)
    return Recorder(config, backends, interrupted)


def _lock_folder(config: pytest.Config) -> None:
    """Make the folder of the report and lock it until the run ends. --resume makes none. Raise UsageError of one sentence."""
    folder = config.invocation_params.dir / read_option(config, "report")
    lock = FolderLock(folder)
    try:
        if not read_option(config, "resume"):
            folder.mkdir(parents=True, exist_ok=True)
        if folder.is_dir():
            lock.acquire()
            config.add_cleanup(lock.release)
    except FolderTaken as error:
        raise build_refusal(config, f"{error}; wait for its end, or name another folder") from None
    except OSError as error:
        raise build_refusal(config, f"nothing can be written there ({error.strerror or error})") from None


def build_refusal(config: pytest.Config, what: str) -> pytest.UsageError:
    return pytest.UsageError(f"--report={read_option(config, 'report')}: {what}")


def _write_all(file: BinaryIO, data: bytes) -> None:
    """Write all of the bytes into an unbuffered file, which may take them in parts."""
    while data:
        data = data[file.write(data) :]


def build_header(config: pytest.Config) -> Header:
    """Return the header of the report: the options of the run, the versions, and the machine."""
    from .session import DEFAULT_BACKEND

    option = partial(read_option, config)
    return Header(
        schema=SCHEMA,
        suite=__version__,
        spec=SPEC_VERSION,
        commit=find_commit(),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        command=("pytest", *map(str, config.invocation_params.args)),
        backends=tuple(option("backend") or [DEFAULT_BACKEND]),
        dtypes=tuple(split_names(option("dtype"))),
        precision=option("precision"),
        effort=option("effort"),
        shapes=current_settings().shape_count,
        required=tuple(split_names(option("require"))),
        required_levels=tuple(split_names(option("require_level"))),
        isolate=bool(option("isolate") or option("python")),
        world_size=int(option("world_size")) if option("world_size") else None,
        known={kind: path for kind in ("failing", "flaky") if (path := option(f"known_{kind}"))},
        selection=find_selection(config),
        seed=config.getoption("hypothesis_seed", None),
        seeds=(seeds[0], seeds[-1]) if (seeds := current_settings().seeds) else None,
        python=platform.python_version(),
        platform=platform.platform(),
        machine=platform.machine(),
        libraries=dict(filter(None, map(_find_version, LIBRARIES))),
    )


def _find_version(library: str) -> tuple[str, str] | None:
    """Return the library with its version, or None if it is not installed."""
    module = sys.modules.get(library.replace("-", "_"))
    try:
        return library, str(getattr(module, "__version__", None) or metadata.version(library))
    except metadata.PackageNotFoundError:
        return None
