"""A pytest plugin, which `plugin.py` registers for `--report=DIR`: each verdict becomes a line as soon as it is known.

Under pytest-xdist it works in the controller, which is told of everything that the workers find.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Generator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest

from ..report import BADGE, DATA, PAGE, SCHEMA, Report, format_record, read
from ..report.backend_results import build_results
from ..report.badge import badge
from ..report.github_step import step_summary
from ..report.page import Unavailable, page
from ..specification.version import SPEC_VERSION, __version__
from ..trials.collection import is_law
from . import resuming
from .arguments import parse_shapes
from .resuming import kept_records, read_interrupted

if TYPE_CHECKING:
    from .session import Session

LIBRARIES = ("numpy", "hypothesis", "pytest", "pytest-xdist", "array-api-compat", "ml_dtypes")


class Recorder:
    def __init__(self, config: pytest.Config, backends: list[dict[str, Any]] | None = None, before: Report | None = None):
        self.config, self.folder = config, config.invocation_params.dir / config.getoption("report")
        self.known, self.backends = backends or [], set[str]()
        self.ended, self.counts, self.examples = set[str](), Counter[str](), 0
        self.before = before  # the report that goes on
        self.reason, self.complaint, self.wrote, self.start = "finished", "", [DATA], time.monotonic()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name in (PAGE, BADGE):
                (self.folder / name).unlink(missing_ok=True)  # of an earlier run
            self.file: IO[str] = (self.folder / DATA).open("w", encoding="ascii")
        except OSError as error:
            reason = error.strerror or error
            raise pytest.UsageError(f"--report={config.getoption('report')}: nothing can be written there ({reason})") from None

    def write(self, record: dict[str, Any]) -> None:
        self.file.write(format_record(record))
        self.file.flush()  # to the system: what happens to this process then does not matter

    # --- as the run goes --------------------------------------------------------------------------------------------

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session
        for record in kept_records(self.before) if self.before else [header(self.config)]:
            self.write(record)
        for verdict in self.before.verdicts if self.before else ():
            self.counts[verdict["status"]] += 1
            self.examples += verdict["examples"]
        self.backends |= {backend["name"] for backend in self.before.backends} if self.before else set()
        self._meet(self.known)

    def _meet(self, backends: list[dict[str, Any]]) -> None:
        for backend in backends:
            if backend["name"] not in self.backends:
                self.backends.add(backend["name"])
                self.write(backend)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        facts = next((json.loads(str(value)) for key, value in report.user_properties if key == "spec_tests"), None)
        if report.when == "call" and facts is not None:
            from .makereport import DETAILS_ATTRIBUTE

            kept = json.loads(getattr(report, DETAILS_ATTRIBUTE, "{}"))
            self._meet(kept.get("backends", []))
            self.counts[facts["status"]] += 1
            self.examples += facts["examples"]
            self.write({"record": "verdict", **facts, **kept.get("verdict", {}), "node": report.nodeid})
        elif report.failed and (is_law(self.config, report.location) or report.when not in ("setup", "call", "teardown")):
            self._error(report.nodeid, report.when or "", str(report.longrepr))  # of any test, if its worker died
        if report.when != "setup" or not report.passed:
            self.ended.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._error(report.nodeid, "collect", str(report.longrepr))

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.reason = "internal error"
        self._error("", "internal", str(excrepr))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        asked = isinstance(excinfo.value, KeyboardInterrupt) and not isinstance(excinfo.value, pytest.Session.Interrupted)
        self.reason = "interrupted" if asked else "stopped"  # by a person, or by -x, pytest.exit() or a file that is no test

    def _error(self, node: str, when: str, message: str) -> None:
        """Something other than a verdict: a worker that died, a fixture of another project, the suite itself."""
        self.counts["error"] += 1
        self.write({"record": "error", "node": node, "when": when, "message": message})

    # --- at its end -------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        result = yield
        refused = session.exitstatus in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
        if self.reason == "finished" and (refused or len(self.ended) < session.testscollected):
            self.reason = "stopped"
        self.write(
            {
                "record": "footer",
                "complete": self.reason == "finished",
                "reason": self.reason,
                "exit_status": int(session.exitstatus),
                "selected": session.testscollected + (len(self.before.verdicts) if self.before else 0),
                "totals": {name: self.counts[name] for name in ("passed", "failed", "skipped", "not held", "error")},
                "examples": self.examples,
                "seconds": round(time.monotonic() - self.start, 2),
            }
        )
        self.file.close()
        try:
            self._publish()
        except Unavailable as sentence:
            self.complaint = str(sentence)
        except Exception as error:  # the verdict must still be printed, and the data are there
            self.complaint = f"the report could not be finished: {type(error).__name__}: {error}"
        return result

    def _publish(self) -> None:
        """What people and machines look at, made of what was written."""
        seen = build_results([read(self.folder)])
        (self.folder / BADGE).write_text(badge(seen), encoding="ascii")
        self.wrote.append(BADGE)
        if step := os.environ.get("GITHUB_STEP_SUMMARY"):
            with Path(step).open("a", encoding="utf-8") as file:
                file.write(step_summary(seen))
        (self.folder / PAGE).write_text(page(seen), encoding="utf-8")
        self.wrote.insert(0, PAGE)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not terminalreporter.no_summary:
            place = self.config.getoption("report").rstrip("/")
            terminalreporter.write_line(f"report: {', '.join(f'{place}/{name}' for name in self.wrote)}")
            if self.complaint:
                terminalreporter.write_line(self.complaint)


def build_recorder(config: pytest.Config, session: Session) -> Recorder:
    """Where workers try the backends, they tell what these are."""
    here = config.getoption("dist", "no") == "no"
    from .recorded_details import backend_record

    before = read_interrupted(config, header(config)) if config.getoption("resume") else None
    if before is not None:
        resuming.register(config, before)
    return Recorder(config, [backend_record(backend, session.folder) for backend in session.backends] if here else [], before)


def header(config: pytest.Config) -> dict[str, Any]:
    """What the whole run has in common."""
    from .session import DEFAULT

    option = config.getoption
    return {
        "record": "header",
        "schema": SCHEMA,
        "suite": __version__,
        "spec": SPEC_VERSION,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": ["pytest", *map(str, config.invocation_params.args)],
        "backends": option("backend") or [DEFAULT],
        "dtypes": _listed(option("dtype")),
        "precision": option("precision"),
        "effort": option("effort"),
        "shapes": parse_shapes(option("shapes")),
        "required": _listed(option("require")),
        "required_levels": _listed(option("require_level")),
        "isolate": option("isolate"),
        "known": {kind: path for kind in ("failing", "flaky") if (path := option(f"known_{kind}"))},
        "selection": {name: value for name in ("keyword", "markexpr", "deselect", "lf") if (value := option(name, None))},
        "seed": option("hypothesis_seed", None),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "libraries": dict(filter(None, map(_version, LIBRARIES))),
    }


def _listed(values: list[str]) -> list[str]:
    return [name for value in values for name in value.split(",") if name]


def _version(library: str) -> tuple[str, str] | None:
    module = sys.modules.get(library.replace("-", "_"))
    try:
        return library, str(getattr(module, "__version__", None) or metadata.version(library))
    except metadata.PackageNotFoundError:
        return None
