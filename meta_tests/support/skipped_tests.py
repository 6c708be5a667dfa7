"""A pytest plugin: the last lines of a run name what its tests lacked and how to get it.

A test that was skipped has shown nothing: with --fail-if-lacking the run fails.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

LIBRARIES = "pip install -e '.[dev,docs,libraries,campaign]' -c constraints.txt"
PACKAGES = {  # of Debian, by the command that is missing
    "c++": "g++", "cc": "gcc", "go": "golang-go", "java": "default-jre-headless", "javac": "default-jdk-headless",
    "node": "nodejs", "perl": "perl", "rustc": "rustc",
    "ssh-keygen": "openssh-client",
}  # fmt: skip
LAWS = "spec_tests/test_"  # the suite says by itself what a backend lacks
REMEDIES = {  # the reason of a skip, with what is missing as its first group, and how to get it
    r"could not import '([\w.]+)'": LIBRARIES,
    r"there is no (Chromium) here": "apt-get install chromium, or playwright install chromium",
    r"(TensorFlow\.js) is not installed": "npm install in examples/tensorflow_js",
    r"imports '(\w+)', which is not installed": LIBRARIES,
    r"(\S+) is not installed": "",  # a command or a library
}


def find_lack(reason: str) -> tuple[str, str] | None:
    """Return what is missing and how to get it, or None if nothing is: the test is about another system or another device."""
    for pattern, remedy in REMEDIES.items():
        if found := re.search(pattern, reason):
            name = found[1]
            return name, remedy or (f"apt-get install {PACKAGES[name]}" if name in PACKAGES else LIBRARIES)
    return None


class SkippedTests:
    """What the tests of a run lacked."""

    def __init__(self, fails: bool):
        self.fails, self.lacks, self.others = fails, Counter[tuple[str, str]](), Counter[str]()

    def note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail") and LAWS not in report.nodeid:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            reason = reason.removeprefix("Skipped: ")
            if lack := find_lack(reason):
                self.lacks[lack] += 1
            else:
                self.others[reason] += 1

    pytest_runtest_logreport = pytest_collectreport = note

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.fails and self.lacks and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self.format_lines():
            terminalreporter.write_line(line, red=self.fails, yellow=not self.fails)

    def format_lines(self) -> Iterator[str]:
        """Yield the sentences on what was not tested."""
        if self.lacks:
            yield f"{'ERROR: ' * self.fails}not tested, because something is missing here:"
        for (name, remedy), count in sorted(self.lacks.items()):
            yield f"  {name} ({count} skipped): {remedy}"
        for reason, count in sorted(self.others.items()):
            yield f"not tested on this system ({count} skipped): {reason}"
