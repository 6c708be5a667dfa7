"""Compare the CPU seconds that two checkouts take for each operation that both have.

python -m benchmarks.compare_checkouts BEFORE AFTER [--backend torch-cpu] [--effort default] [-k EXPRESSION] [--rounds 2]
                                       [--names BEFORE AFTER] [--write DIR]

In each round both run at the same time, each on a core of its own, and the next round swaps the cores. The least of all rounds
counts, for each operation by itself. Other work on the machine slows both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from .cpu_time import format_table, publish
from .operation_timer import FILE_VARIABLE, START

Seconds = dict[str, float]  # CPU seconds by operation


def run_both(checkouts: list[Path], options: list[str], folder: Path, swapped: bool) -> list[Seconds]:
    """Run both checkouts at the same time, and return the seconds of each."""
    cores = sorted(os.sched_getaffinity(0))[:2] if hasattr(os, "sched_getaffinity") else []
    cores = cores[::-1] if swapped else cores
    children = []
    for number, checkout in enumerate(checkouts):
        file = folder / f"{number}.json"
        file.unlink(missing_ok=True)
        variables = {
            "PYTHONPATH": f"{checkout}{os.pathsep}{folder}",
            "PYTHONPYCACHEPREFIX": str(folder / f"bytecode {number}"),
            "PYTHONDONTWRITEBYTECODE": "",
            "OMP_NUM_THREADS": "1",
            FILE_VARIABLE: str(file),
        }
        pinned = ["taskset", "-c", str(cores[number])] if len(cores) == 2 and shutil.which("taskset") else []
        command = [*pinned, sys.executable, "-m", "pytest", "-p", "operation_timer", "-p", "no:cacheprovider", "-q", *options]
        variables = {**os.environ, **variables}
        with (folder / f"{number}.txt").open("w") as output:
            children.append(subprocess.Popen(command, cwd=checkout, env=variables, stdout=output, stderr=subprocess.STDOUT))
    ended = enumerate(zip(children, checkouts, strict=True))
    return [read_seconds(child, checkout, folder / str(number)) for number, (child, checkout) in ended]


def read_seconds(child: subprocess.Popen[bytes], checkout: Path, files: Path) -> Seconds:
    """Wait for a run, and return the seconds that its plugin wrote. Failures of laws do not matter."""
    if child.wait() not in (0, 1):
        text = files.with_suffix(".txt").read_text()
        raise RuntimeError(f"{checkout}: pytest ended with exit code {child.returncode}:\n{text[-2000:]}")
    seconds: Seconds = json.loads(files.with_suffix(".json").read_text())
    return seconds


def take_least(rounds: list[list[Seconds]]) -> tuple[Seconds, Seconds]:
    """Return the least seconds of each operation, of both checkouts, for the operations that both have."""
    before, after = ([seconds[number] for seconds in rounds] for number in (0, 1))
    shared = [name for name in before[0] if all(name in seconds for seconds in (*before, *after))]
    least = [{name: min(seconds[name] for seconds in all_rounds) for name in shared} for all_rounds in (before, after)]
    return least[0], least[1]


def list_rows(before: Seconds, after: Seconds) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of the table: the start, the sum of all operations, and each operation, the dearest first."""
    names = sorted((name for name in before if name != START), key=lambda name: -after[name])
    sums = [sum(seconds[name] for name in names) for seconds in (before, after)]
    middle = median(after[name] / before[name] for name in names)
    yield "before the first law", f"{before[START]:.2f}", f"{after[START]:.2f}", f"{after[START] / before[START]:.2f}"
    yield f"{len(names)} operations", f"{sums[0]:.2f}", f"{sums[1]:.2f}", f"{sums[1] / sums[0]:.2f}"
    yield "the median operation", "", "", f"{middle:.2f}"
    for name in names:
        yield name, f"{before[name]:.2f}", f"{after[name]:.2f}", f"{after[name] / before[name]:.2f}"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs=2, type=Path, metavar=("BEFORE", "AFTER"), help="folders of two checkouts")
    parser.add_argument("--backend", default="torch-cpu")
    parser.add_argument("--effort", default="default")
    parser.add_argument("-k", dest="only", default="", help="as pytest's")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--names", nargs=2, default=("before", "after"), help="what the table calls the two, as their commits")
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    checkouts = [path.resolve() for path in options.checkouts]
    arguments = [f"--backend={options.backend}", f"--effort={options.effort}", "--hypothesis-seed=0", "spec_tests"]
    arguments += ["-k", options.only] if options.only else []
    rounds, loads = [], []
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(Path(__file__).with_name("operation_timer.py"), name)
        for number in range(options.rounds):
            rounds.append(run_both(checkouts, arguments, Path(name), swapped=number % 2 == 1))
            loads.append(os.getloadavg()[0])
    before, after = take_least(rounds)
    title = f"CPU seconds of two checkouts, {options.backend}, {options.effort} effort, the least of {options.rounds} rounds"
    load = f"{max(loads):.1f} processes waited or ran on {os.cpu_count()} cores"
    headers = ("operation", *options.names, "ratio")
    text = format_table(f"{title}; {load}", headers, list_rows(before, after), disable_numparse=True)
    publish("compare_checkouts", text, {"before": before, "after": after, "loads": loads}, options.write)


if __name__ == "__main__":
    main()
