"""A pytest plugin: --keep-passed=FILE goes on with a run that was cut, and tries only what has not passed yet.

The file has the hash of the sources in its first line, then a test in each line, as soon as it has passed. A file of other
sources is begun anew. `python -m meta_tests.support.kept_results` prints the hash.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from .paths import ROOT


def hash_sources() -> str:
    """Return a hash of all files of the checkout but ignored ones, of the versions of all libraries, and of the system."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    digest = hashlib.sha256(f"{platform.python_version()} {platform.platform()}".encode())
    for name in sorted(name for name in listed.stdout.decode().split("\0") if (ROOT / name).is_file()):
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes() + b"\0")
    for library in sorted(f"{found.name} {found.version}" for found in metadata.distributions()):
        digest.update(library.encode())
    return digest.hexdigest()


class KeptResults:
    """The tests of a run that have passed, in a file. The workers of pytest-xdist have no file: they get the names."""

    def __init__(self, path: Path | None, passed_before: Iterable[str]):
        self.path, self.passed_before, self.passed = path, {*passed_before}, set[str]()

    @classmethod
    def of_file(cls, path: Path) -> KeptResults:
        sources = hash_sources()
        first, *passed = path.read_text(encoding="utf-8").splitlines() if path.exists() else [""]
        if first != sources:
            passed = []
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{sources}\n", encoding="utf-8")
        return cls(path, passed)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["passed_before"] = sorted(self.passed_before)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = [item for item in items if item.nodeid in self.passed_before]
        if kept:
            items[:] = [item for item in items if item.nodeid not in self.passed_before]
            config.hook.pytest_deselected(items=kept)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a test down when its teardown has passed, unless it has failed before."""
        if report.failed:
            self.passed.discard(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.add(report.nodeid)
        elif self.path and report.when == "teardown" and report.nodeid in self.passed:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")

    def pytest_report_header(self) -> str:
        return f"passed before, and not tried again: {len(self.passed_before)} tests ({self.path})"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Call a run green in which all tests had passed before."""
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.passed_before:
            session.exitstatus = pytest.ExitCode.OK


if __name__ == "__main__":
    print(hash_sources())
