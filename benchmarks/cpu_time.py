"""What a command costs, and where the tables go. Times are CPU seconds of a process and its children: other work on the machine
does not show in them, as it does in the time on the wall."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabulate import tabulate
from threadpoolctl import threadpool_limits

from meta_tests.support.paths import MEASURED, ROOT
from meta_tests.support.pytest_process import environment

TABLES = MEASURED / "benchmarks"


@dataclass(frozen=True)
class Usage:
    cpu: float  # seconds, of the process and of all children that it waited for
    wall: float
    peak: float  # MiB, of the largest of them
    code: int
    text: str


def measured(*command: str, folder: Path | None = None, variables: dict[str, str] | None = None) -> Usage:
    """A command of this Python, in an empty folder if none is given."""
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        environ = environment(ROOT, **(variables or {}))
        child = subprocess.Popen(
            [sys.executable, *command], cwd=folder or empty, env=environ, stdout=out, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        out.seek(0)
        text = out.read().decode(errors="replace")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Usage(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / unit, child.returncode, text)


def one_core() -> None:
    """Of this process from here on: threads that wait for one another would count as work."""
    os.environ["OMP_NUM_THREADS"] = "1"  # of libraries that are yet to be imported
    threadpool_limits(1)


def least(times: int, *command: str, variables: dict[str, str] | None = None) -> float:
    """The CPU seconds of a command: the fewest of several times."""
    usages = [measured(*command, variables=variables) for _ in range(times)]
    for usage in usages:
        if usage.code:
            raise RuntimeError(f"{' '.join(command)} failed:\n{usage.text}")
    return min(usage.cpu for usage in usages)


def table(title: str, headers: Sequence[str], rows: Iterable[Sequence[Any]], **options: Any) -> str:
    return f"{title}\n\n{tabulate(list(rows), headers=headers, tablefmt='simple', **options)}\n"


def publish(name: str, text: str, data: dict[str, Any], folder: Path | None) -> None:
    """Printed; and written, as text to show and as data, where a folder is given."""
    print(text, flush=True)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_text(text)
        (folder / f"{name}.json").write_text(_by_line(data) + "\n")


def _by_line(data: dict[str, Any]) -> str:
    """Each entry of a list on a line of its own, so that a difference is one of lines."""
    parts = {key: json.dumps(value, ensure_ascii=False, sort_keys=True) for key, value in data.items()}
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            parts[key] = "[\n" + ",\n".join(json.dumps(one, ensure_ascii=False, sort_keys=True) for one in value) + "\n]"
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {part}" for key, part in parts.items()) + "\n}"
