"""Where a run's time goes: the backend, the oracle, the bounds, the data, Hypothesis, pytest.

python -m benchmarks.profile_of_a_run [--backend torch-cpu numpy-cpu] [--effort default] [-k EXPRESSION] [--write DIR]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from spec_tests.inputs.effort import EFFORTS

from .cpu_time import measured, publish, table
from .stack_sampler import FILE, PARTS


def shares(name: str, effort: str, only: str = "") -> dict[str, float]:
    """CPU seconds of each part, of a run in one process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "samples.json")
        options = ["--pyargs", "spec_tests", f"--backend={name}", f"--effort={effort}", "-q", "-p", "no:cacheprovider"]
        options += ["-k", only] if only else []
        used = measured("-m", "pytest", "-p", "benchmarks.stack_sampler", *options, variables={FILE: str(file)})
        if used.code not in (0, 1):
            raise RuntimeError(used.text[-2000:])
        spent = json.loads(file.read_text())
    return {part: spent.get(part, 0.0) for part in PARTS}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", nargs="+", default=["numpy-cpu", "torch-cpu"])
    parser.add_argument("--effort", default="default", choices=tuple(EFFORTS))
    parser.add_argument("-k", dest="only", default="", help="as pytest's")
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    found = {name: shares(name, options.effort, options.only) for name in options.backend}
    rows = []
    for name, spent in found.items():
        whole = sum(spent.values())
        rows.append((name, f"{whole:.1f}", *(f"{spent[part] / whole:.0%}" for part in PARTS)))
    text = table(f"Shares of a run's CPU time, {options.effort} effort, one process", ("backend", "CPU s", *PARTS), rows)
    publish("profile_of_a_run", text, found, options.write)


if __name__ == "__main__":
    main()
