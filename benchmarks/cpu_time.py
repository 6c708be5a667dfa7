"""Measure what a command costs, and publish the tables.

Times are CPU seconds of a process and its children. Other work on the machine changes them less than it changes wall time.
"""

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
    """What one command used, how it ended, and what it printed."""

    cpu_seconds: float  # of the process and of all children that it waited for
    wall_seconds: float
    peak_mib: float  # memory of the largest of these processes
    code: int
    text: str


def measure_command(*command: str, folder: Path | None = None, variables: dict[str, str] | None = None) -> Usage:
    """Run `python COMMAND …` and measure it, in an empty folder if none is given."""
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


def use_one_core() -> None:
    """Compute with one thread in this process from here on: threads that wait for one another would count as CPU time."""
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries that are imported later
    threadpool_limits(1)


def measure_least_cpu(times: int, *command: str, variables: dict[str, str] | None = None) -> float:
    """Run a command several times and return the smallest CPU time, in seconds."""
    usages = [measure_command(*command, variables=variables) for _ in range(times)]
    for usage in usages:
        if usage.code:
            raise RuntimeError(f"{' '.join(command)} failed:\n{usage.text}")
    return min(usage.cpu_seconds for usage in usages)


def format_table(title: str, headers: Sequence[str], rows: Iterable[Sequence[Any]], **options: Any) -> str:
    return f"{title}\n\n{tabulate(list(rows), headers=headers, tablefmt='simple', **options)}\n"


def publish(name: str, text: str, data: dict[str, Any], folder: Path | None) -> None:
    """Print the text. With a folder, write NAME.txt with the text and NAME.json with the data."""
    print(text, flush=True)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_text(text)
        (folder / f"{name}.json").write_text(_dump_by_line(data) + "\n")


def _dump_by_line(data: dict[str, Any]) -> str:
    """Return JSON with each entry of a list on its own line, so that a diff of two versions shows lines."""
    parts = {key: json.dumps(value, ensure_ascii=False, sort_keys=True) for key, value in data.items()}
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            parts[key] = "[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False, sort_keys=True) for entry in value) + "\n]"
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {part}" for key, part in parts.items()) + "\n}"
