"""Run pytest on the laws in a process of its own, without the configuration and the conftest files of a project there.

The options travel over its standard input, so that no other process reads them in its command line. The data of a report may go
to a file that has no name, whose descriptor the process inherits.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import BinaryIO

from ..processes.survivors import MARK, MARKS, kill_all, new_mark

NOT_INHERITED = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")  # they could change what runs
START_CODE = "from spec_tests.running.fresh_run import main; main()"
SECONDS_BETWEEN_LOOKS = 0.05  # whether a process has ended
PROC = Path("/proc")


@dataclass(frozen=True)
class FreshRun:
    """A process that has ended, or was ended."""

    returncode: int
    stdout: str
    stderr: str
    seconds: float
    cpu_seconds: float | None  # of the process and of its children that have ended; None where the system does not say
    exceeded: bool = False  # it took longer than it may, and was ended with all that it had started


def run_fresh(
    *options: str, report: BinaryIO | None = None, limit_seconds: float | None = None, stop: Event | None = None
) -> FreshRun:
    """Run the suite with these options in the current folder. Return the process, which has ended, with its output.

    `report` is a file that takes the data of the report. The current folder is not on the path of the process (as with
    `python -P`), unless the backend is loaded there. After `limit_seconds`, or when `stop` is set, the process is killed with all
    that it has started.
    """
    environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    environment[MARK] = mark = new_mark()
    with (
        tempfile.TemporaryDirectory() as temporary,
        tempfile.TemporaryFile() as message,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        settings = Path(temporary) / "pytest.ini"
        settings.write_text("[pytest]\n")
        plugins = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider")
        words = [*plugins, "--noconftest", "-c", str(settings), "--pyargs", "spec_tests", "--quiet", "--tb=no", *options]
        files = [report.fileno()] if report and sys.platform != "win32" else []  # there the run is refused
        message.write(json.dumps({"words": words, "report": files, "folder": os.getcwd()}).encode())
        message.seek(0)
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", START_CODE],
            stdin=message,
            env=environment,
            pass_fds=files,
            stdout=stdout,
            stderr=stderr,
            process_group=None if PROC.is_dir() or sys.platform == "win32" else 0,  # without /proc it is found by its group
        )
        MARKS[process] = mark
        try:
            cpu_seconds, exceeded = wait_for(process, limit_seconds, stop)
        finally:
            if process.returncode is None:
                _end(process)
        seconds = time.monotonic() - started
        return FreshRun(process.returncode, _read(stdout), _read(stderr), seconds, cpu_seconds, exceeded)


def wait_for(process: subprocess.Popen[bytes], limit_seconds: float | None, stop: Event | None) -> tuple[float | None, bool]:
    """Wait until a process has ended, or end it. Return its CPU seconds, and whether it took longer than it may."""
    started, exceeded = time.monotonic(), False
    while True:
        ended, cpu_seconds = _look(process)
        if ended:
            return cpu_seconds, exceeded
        is_late = limit_seconds is not None and time.monotonic() - started > limit_seconds
        if not exceeded and (is_late or (stop is not None and stop.is_set())):
            exceeded = is_late
            kill_all(process)
            process.kill()
            stop = None
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _look(process: subprocess.Popen[bytes]) -> tuple[bool, float | None]:
    """Return whether a process has ended, and the CPU seconds that it then has used."""
    if sys.platform == "win32" or process.returncode is not None:
        return process.poll() is not None, None
    try:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    except ChildProcessError:
        return process.poll() is not None, None
    if not pid:
        return False, None
    process.returncode = os.waitstatus_to_exitcode(status)
    return True, usage.ru_utime + usage.ru_stime


def _end(process: subprocess.Popen[bytes]) -> None:
    kill_all(process)
    process.kill()
    process.wait()


def _read(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode(errors="replace").replace("\r\n", "\n")


def main() -> None:
    """Run pytest as the caller's message on the standard input says, and exit with its status."""
    import pytest

    from ..processes.confinement import hidden_from_others
    from .unnamed_report import UnnamedReport

    plan = json.load(sys.stdin)
    _end_with_parent()
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    if not any(word.startswith("--spec-isolate") for word in plan["words"]):
        sys.path.insert(0, plan["folder"])
    with hidden_from_others():
        sys.exit(pytest.main(plan["words"], [UnnamedReport(number) for number in plan["report"]]))


def _end_with_parent() -> None:
    """Have the system kill this process when the one that started it ends. This works on Linux only."""
    with contextlib.suppress(Exception):
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
