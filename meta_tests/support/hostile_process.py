"""Run the suite as another process, on code that may hang, end the run or leave processes behind."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spec_tests.processes.survivors import MARK, find_started, new_mark

from .paths import ROOT
from .pytest_process import environment

RUN_TIMEOUT_SECONDS = 120  # after which a run counts as hanging
MEMORY_LIMIT_BYTES = 4 << 30  # data segment of a process, as `ulimit -d` limits it
OPTIONS = ("-p", "spec_tests.plugin", "--hypothesis-profile=default", "--hypothesis-seed=1", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class HostileRun:
    """How a run ended, what it printed, and the suite's verdicts as junit.xml has them."""

    status: int | None  # None: it did not end in time
    text: str
    facts: list[dict[str, Any]]


def run_hostile(*args: str, timeout_seconds: float = RUN_TIMEOUT_SECONDS, folder: Path | None = None) -> HostileRun:
    """Run `pytest ARGS` in a folder, by default an empty one, and end every process that the run leaves behind.

    Modules of a folder that is given can be imported.
    The output goes to a file, because a process that is left behind keeps a pipe open.
    """
    with tempfile.TemporaryDirectory() as scratch, open(Path(scratch) / "output", "w+b") as output:
        junit, mark = Path(scratch) / "junit.xml", new_mark()
        command = [sys.executable, "-m", "pytest", *OPTIONS, f"--junitxml={junit}", *args]
        with subprocess.Popen(
            command,
            cwd=folder or scratch,
            env=environment(ROOT, *([folder] if folder else []), **{MARK: mark}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as run:
            resource.prlimit(run.pid, resource.RLIMIT_DATA, (MEMORY_LIMIT_BYTES,) * 2)
            with suppress(subprocess.TimeoutExpired):
                run.wait(timeout_seconds)
            status = run.poll()
            for left in find_started(run.pid, mark):
                with suppress(ProcessLookupError):
                    os.kill(left, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
        output.seek(0)
        return HostileRun(status, output.read().decode(errors="replace"), list(_read_verdicts(junit)))


def _read_verdicts(junit: Path) -> Iterator[dict[str, Any]]:
    for tag in ElementTree.parse(junit).iter("property") if junit.exists() else ():
        if tag.get("name") == "spec_tests":
            yield json.loads(tag.get("value", ""))
