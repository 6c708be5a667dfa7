"""Measure the CPU seconds of the daily tests of each folder, and write the table in meta_tests/README.md.

python -m meta_tests.measure.seconds_of_tests [--only bounds docs] [--print]

A folder has a row once it is measured; a sentence below the table names the others. A folder is run with the options of
`nox -s tests`, in one process: first without its slow tests, then these alone. The processes that the tests start are counted.
With --only, the other rows stay as they are. Other work on the machine adds up to as many seconds again: compare commits on one
machine at one time.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ..support.paths import ROOT
from ..support.pytest_process import environment

PAGE = ROOT / "meta_tests" / "README.md"
START, END = "<!-- seconds: written by python -m meta_tests.measure.seconds_of_tests -->\n", "<!-- end of seconds -->\n"
HEAD = "| folder | tests | CPU s without `slow` | CPU s of `slow` | commit | date | machine |\n|---|---:|---:|---:|---|---|---|\n"
OPTIONS = ("--hypothesis-profile=ci", "-q", "-p", "no:cacheprovider", "--doctest-modules")
PARTS = ("not slow and not nightly", "slow and not nightly")

Row = tuple[str, ...]


def list_folders() -> list[str]:
    """Return the folders that have tests: those of meta_tests, and the doctests of the equations."""
    tested = {path.parent.name for path in (ROOT / "meta_tests").glob("*/test_*.py")}
    return [*sorted(tested), "../reference_numpy"]


def read_rows() -> dict[str, Row]:
    """Return the rows of the table, by the folder."""
    table = PAGE.read_text(encoding="utf-8").partition(START)[2].partition(END)[0]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table.splitlines() if line.startswith("| `")]
    return {row[0].strip("`/"): row for row in rows}


def format_table(rows: dict[str, Row]) -> str:
    """Return the rows of the folders that were measured, and a sentence that names those that were not."""
    lines = ["| " + " | ".join(rows[folder]) + " |" for folder in list_folders() if folder in rows]
    others = [f"`{folder}/`" for folder in list_folders() if folder not in rows]
    missing = f"Not measured yet: {', '.join(others)}.\n\n" if others else ""
    return "\n" + HEAD + "\n".join(lines) + "\n\n" + missing


def measure(folder: str, part: str) -> tuple[int, float]:
    """Run the tests of a folder that this expression of marks selects. Return how many ran, and the CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", *OPTIONS, "-m", part, str((ROOT / "meta_tests" / folder).resolve())]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 5):  # 5: no test is selected
        raise SystemExit(f"{done.stdout[-4000:]}\nthe tests of {folder} failed: mend them first")
    count = sum(map(int, re.findall(r"(\d+) passed", done.stdout)))
    return count, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_folder(folder: str) -> Row:
    (quick, quick_seconds), (slow, slow_seconds) = (measure(folder, part) for part in PARTS)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=True)
    seconds = (f"{quick_seconds:.0f}", f"{slow_seconds:.0f}" if slow else "")
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return (f"`{folder}/`", str(quick + slow), *seconds, commit.stdout.strip(), today, describe_machine())


def describe_machine() -> str:
    """Return the processor, the number of cores, and how many processes wanted one in the last minutes."""
    models = re.findall(r"model name\s*:\s*(.*)", _read(Path("/proc/cpuinfo")))
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.0f}"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def write(rows: dict[str, Row]) -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(before + START + format_table(rows) + END + rest.partition(END)[2], encoding="utf-8")


def measured_rows(folders: list[str]) -> Iterator[tuple[str, Row]]:
    for folder in folders:
        row = measure_folder(folder)
        print(" | ".join(row), flush=True)
        yield folder, row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list_folders(), default=list_folders(), metavar="FOLDER")
    parser.add_argument("--print", action="store_true", help="print the rows, and leave the page as it is")
    options = parser.parse_args()
    rows = read_rows()
    for folder, row in measured_rows(options.only):
        rows[folder] = row
        if not options.print:
            write(rows)


if __name__ == "__main__":
    main()
