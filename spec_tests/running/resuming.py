"""`--resume`: what a report has already is not tried again. The report goes on where it was cut."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ..implementation.environment import backend_file
from ..report import Report, ReportError, read

MUST_BE_EQUAL = (
    "backends", "dtypes", "precision", "effort", "shapes", "required", "required_levels", "selection", "spec", "isolate",
)  # fmt: skip
DONE = "spec_tests_done"


def read_interrupted(config: pytest.Config, header: dict[str, Any]) -> Report:
    """The report to go on with; a UsageError where it is one of another run, or of other code."""
    place, folder = config.getoption("report"), config.invocation_params.dir
    try:
        report = read(folder / place)
    except ReportError as error:
        raise pytest.UsageError(f"--resume: {error}") from None
    for name in MUST_BE_EQUAL:
        if report.header.get(name) != header[name]:
            was, now = report.header.get(name) or "none", header[name] or "none"
            raise pytest.UsageError(f"--resume: {place} is of a run with other {name.replace('_', ' ')}: {was}, now {now}")
    hashes = {backend["text"]: backend["sha256"] for backend in report.backends}
    for text in header["backends"]:
        path = backend_file(text, folder)
        if path and text in hashes and hashes[text] != hashlib.sha256(path.read_bytes()).hexdigest():
            raise pytest.UsageError(f"--resume: {path} has changed since {place} was written; start anew, without --resume")
    return report


class Resuming:
    """Deselects what is done, in a worker too; what failed before fails the run."""

    def __init__(self, done: set[str], failed: bool = False):
        self.done, self.failed = done, failed

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[DONE] = sorted(self.done)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        left_out = [item for item in items if item.nodeid in self.done]
        if left_out:
            items[:] = [item for item in items if item.nodeid not in self.done]
            config.hook.pytest_deselected(items=left_out)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.done and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED if self.failed else pytest.ExitCode.OK


def register(config: pytest.Config, report: Report | None) -> None:
    """In a worker: with what the controller says is done."""
    if report is not None:
        failed = any(v["status"] == "failed" and not v.get("known") for v in report.verdicts)
        resuming = Resuming({v["node"] for v in report.verdicts}, failed)
    else:
        resuming = Resuming(set(getattr(config, "workerinput", {}).get(DONE, ())))
    config.pluginmanager.register(resuming, "spec_tests.resuming")


def kept_records(report: Report) -> list[dict[str, Any]]:
    """The lines that stay: not the footer, nor errors of tests that are tried again."""
    done = {verdict["node"] for verdict in report.verdicts}
    return [report.header, *report.backends, *report.verdicts, *(e for e in report.errors if e["node"] in done)]
