"""`--resume`: continue an interrupted report. Tests whose verdicts it has are not run again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from ..implementation.environment import backend_file
from ..report import Report, ReportError, read
from ..report.run_lines import Header, StatedBackend
from .imported_files import hash_imports
from .options import read_option

EQUAL_FIELDS = (  # fields of the header in which the interrupted run and this one must agree
    "backends", "dtypes", "precision", "effort", "shapes", "required", "required_levels", "selection", "isolate", "seeds",
    "world_size",
)  # fmt: skip
DONE_KEY = "spec_tests_done"  # key of `workerinput`, by which a worker learns which tests are done


def read_interrupted(config: pytest.Config, header: Header) -> Report:
    """Return the report to continue. Raise UsageError if the run has other options, or if a backend's file has changed."""
    place, folder = read_option(config, "report"), config.invocation_params.dir
    try:
        report = read(folder / place)
    except ReportError as error:
        raise pytest.UsageError(f"--resume: {error}") from None
    for name in ("suite", "spec", "commit"):
        was, now = getattr(report.header, name), getattr(header, name)
        if was and was != now:  # older reports state no commit
            raise pytest.UsageError(f"--resume: {place} is of {_describe_version(name, was)}, and this is {now}; start anew")
    for name in EQUAL_FIELDS:
        if (was := getattr(report.header, name)) != (now := getattr(header, name)):
            raise pytest.UsageError(
                f"--resume: {place} is of a run with other {name.replace('_', ' ')}: {_format(was)}, now {_format(now)}"
            )
    report.verdicts = [verdict for verdict in report.verdicts if not verdict.cut]  # these laws are tried again
    records = {backend.text: backend for backend in report.backends}
    for text in header.backends:
        path = backend_file(text, folder)
        if path and text in records and (changed := _find_changed_file(path, records[text])):
            raise pytest.UsageError(f"--resume: {changed} has changed since {place} was written; start anew, without --resume")
    return report


def _describe_version(name: str, was: str) -> str:
    return f"commit {was}" if name == "commit" else f"version {was} of the {name}"


def _format(value: Any) -> Any:
    return (list(value) if isinstance(value, tuple) else value) or "none"


def _find_changed_file(path: Path, record: StatedBackend) -> str:
    """Return the backend's file, or one that it imports, if it is not as it was. Return "" if none has changed."""
    if record.sha256 != hashlib.sha256(path.read_bytes()).hexdigest():
        return str(path)
    if (before := record.imports) is None:
        return ""
    now = hash_imports(path)
    changed = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    return f"{changed[0]}, which {path.name} imports," if changed else ""


class Resuming:
    """A pytest plugin that deselects the tests that are done, also in a worker. Earlier failures fail the run."""

    def __init__(self, done: set[str], failed: bool = False):
        self.done, self.failed = done, failed

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[DONE_KEY] = sorted(self.done)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        done_items = [item for item in items if item.nodeid in self.done]
        if done_items:
            items[:] = [item for item in items if item.nodeid not in self.done]
            config.hook.pytest_deselected(items=done_items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.done and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED if self.failed else pytest.ExitCode.OK


def register(config: pytest.Config, report: Report | None) -> None:
    """Register the plugin. A worker has no report: the controller tells it which tests are done."""
    if report is not None:
        failed = any(v.status == "failed" and not v.known for v in report.verdicts)
        resuming = Resuming({v.node for v in report.verdicts}, failed)
    else:
        resuming = Resuming(set(getattr(config, "workerinput", {}).get(DONE_KEY, ())))
    config.pluginmanager.register(resuming, "spec_tests.resuming")


def select_kept_lines(report: Report) -> list[Any]:
    """Return the lines that stay in the report: neither the footer nor errors of tests that run again."""
    done = {verdict.node for verdict in report.verdicts}
    return [report.header, *report.backends, *report.verdicts, *(e for e in report.errors if e.node in done)]
