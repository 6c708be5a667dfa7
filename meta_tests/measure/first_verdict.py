"""Measure the README's example: `python -m meta_tests.measure.first_verdict > docs/measured/first_verdict.txt`

It runs the README's command on its ten lines in an empty folder, and prints after how many seconds the first failure and the
verdict are on the screen, how much of that the processor worked, and how many lines the output has. The machine should be idle.
"""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ..support.docs_scripts import import_script
from ..support.paths import ROOT
from ..support.pytest_process import environment

FIRST_FAILURE, VERDICT = "again: ", "next: "  # how the last line of the first failure begins, and that of the verdict
PLUGIN = ("-m", "pytest", "-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--color=no")
MAX_SECONDS = {FIRST_FAILURE: 10, VERDICT: 30}  # on two idle cores
MAX_LINES = 60


def run_and_clock(folder: Path) -> tuple[dict[str, float], int]:
    """Run the README's command in a folder. Return the seconds until the first line with each beginning, and the lines."""
    block, command = import_script("verdict_picture").example()
    (folder / block.splitlines()[0].removeprefix("# ")).write_text(block, encoding="utf-8")
    words = (sys.executable, "-u", *PLUGIN, *shlex.split(command)[1:])
    began, seen, count = time.monotonic(), dict[str, float](), 0
    with subprocess.Popen(words, cwd=folder, env=environment(ROOT), stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            count += 1
            for beginning in MAX_SECONDS:
                if line.startswith(beginning):
                    seen.setdefault(beginning, time.monotonic() - began)
    return seen, count


def main() -> None:
    load = os.getloadavg()[0]  # processes that want a core, in the last minute
    with tempfile.TemporaryDirectory() as folder:
        seen, count = run_and_clock(Path(folder))
    if missing := [beginning for beginning in MAX_SECONDS if beginning not in seen]:
        raise SystemExit(f"the run printed no line that begins with {missing[0]!r}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"the README's example, on {os.cpu_count()} cores, for which {load:.1f} processes waited before it began")
    print(f"first failure after {seen[FIRST_FAILURE]:5.1f} s  (at most {MAX_SECONDS[FIRST_FAILURE]})")
    print(f"verdict after       {seen[VERDICT]:5.1f} s  (at most {MAX_SECONDS[VERDICT]})")
    print(f"CPU time            {used.ru_utime + used.ru_stime:5.1f} s")
    print(f"output              {count:5d} lines  (under {MAX_LINES})")


if __name__ == "__main__":
    main()
