"""Measure how much of a run's time the backend, the oracle, the bounds, the data, Hypothesis and pytest take.

python -m benchmarks.profile_of_a_run [--backend torch-cpu numpy-cpu] [--effort default] [-k EXPRESSION] [--write DIR]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from spec_tests.inputs.effort import EFFORTS

from .cpu_time import format_table, measure_command, publish
from .stack_sampler import FILE_VARIABLE, PARTS


def measure_parts(name: str, effort: str, only: str = "") -> dict[str, float]:
    """Return the CPU seconds that each part takes in a run in one process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "samples.json")
        options = ["--pyargs", "spec_tests", f"--backend={name}", f"--effort={effort}", "-q", "-p", "no:cacheprovider"]
        options += ["-k", only] if only else []
        used = measure_command("-m", "pytest", "-p", "benchmarks.stack_sampler", *options, variables={FILE_VARIABLE: str(file)})
        if used.code not in (0, 1):
            raise RuntimeError(used.text[-2000:])
        seconds = json.loads(file.read_text())
    return {part: seconds.get(part, 0.0) for part in PARTS}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", nargs="+", default=["numpy-cpu", "torch-cpu"])
    parser.add_argument("--effort", default="default", choices=tuple(EFFORTS))
    parser.add_argument("-k", dest="only", default="", help="as pytest's")
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    seconds_by_backend = {name: measure_parts(name, options.effort, options.only) for name in options.backend}
    rows = []
    for name, seconds in seconds_by_backend.items():
        total = sum(seconds.values())
        rows.append((name, f"{total:.1f}", *(f"{seconds[part] / total:.0%}" for part in PARTS)))
    text = format_table(f"Shares of a run's CPU time, {options.effort} effort, one process", ("backend", "CPU s", *PARTS), rows)
    publish("profile_of_a_run", text, seconds_by_backend, options.write)


if __name__ == "__main__":
    main()
