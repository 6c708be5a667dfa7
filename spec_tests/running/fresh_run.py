"""Run pytest on the laws in a process of its own, without the configuration and the conftest files of a project there.

The options travel over its standard input, so that no other process reads them in its command line. The data of a report may go
to a file that has no name, whose descriptor the process inherits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

NOT_INHERITED = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")  # they could change what runs
START_CODE = "from spec_tests.running.fresh_run import main; main()"


def run_fresh(*options: str, report: BinaryIO | None = None) -> subprocess.CompletedProcess[str]:
    """Run the suite with these options in the current folder. Return the process, which has ended, with its output.

    `report` is a file that takes the data of the report. The current folder is not on the path of the process (as with
    `python -P`), unless the backend is loaded there.
    """
    environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    with tempfile.TemporaryDirectory() as temporary:
        settings = Path(temporary) / "pytest.ini"
        settings.write_text("[pytest]\n")
        plugins = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider")
        words = [*plugins, "--noconftest", "-c", str(settings), "--pyargs", "spec_tests", "--quiet", "--tb=no", *options]
        files = [report.fileno()] if report and sys.platform != "win32" else []  # there the run is refused
        return subprocess.run(
            [sys.executable, "-P", "-c", START_CODE],
            input=json.dumps({"words": words, "report": files, "folder": os.getcwd()}),
            env=environment,
            pass_fds=files,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )


def main() -> None:
    """Run pytest as the caller's message on the standard input says, and exit with its status."""
    import pytest

    from ..processes.confinement import hidden_from_others
    from .unnamed_report import UnnamedReport

    plan = json.load(sys.stdin)
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    if not any(word.startswith("--spec-isolate") for word in plan["words"]):
        sys.path.insert(0, plan["folder"])
    with hidden_from_others():
        sys.exit(pytest.main(plan["words"], [UnnamedReport(number) for number in plan["report"]]))
