"""Measure what the plugin adds to an unrelated pytest run. Every pytest run in the environment imports it.

python -m benchmarks.import_cost [--times 15] [--write DIR]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from .cpu_time import format_table, measure_command, publish

PLUGIN = "spec_tests.plugin"
IMPORT = f"import pytest, time; start = time.process_time(); import {PLUGIN}; print(time.process_time() - start)"


def measure_milliseconds(folder: Path, *options: str) -> float:
    """Return the CPU milliseconds of a pytest run in the folder."""
    used = measure_command("-m", "pytest", "-q", "-p", "no:cacheprovider", *options, folder=folder)
    if used.code:
        raise RuntimeError(used.text)
    return 1000 * used.cpu_seconds


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_one.py").write_text("def test_one():\n    pass\n")
        without, installed, imports = [], [], []
        for _ in range(options.times):  # in turn, so that other work on the machine affects all three alike
            without.append(measure_milliseconds(folder, "-p", f"no:{PLUGIN}"))
            installed.append(measure_milliseconds(folder))
            imports.append(1000 * float(measure_command("-c", IMPORT, folder=folder).text))
    kinds = {"pytest alone": without, "with the plugin installed": installed, "the import itself": imports}
    rows = [(kind, f"{min(times):.1f}", f"{statistics.median(times):.1f}") for kind, times in kinds.items()]
    added = [more - less for more, less in zip(installed, without, strict=True)]  # each pair ran next to each other
    rows.append(("what the plugin adds", f"{min(installed) - min(without):.1f}", f"{statistics.median(added):.1f}"))
    title = f"An unrelated pytest run of one empty test, CPU ms, {options.times} times"
    data = {kind: [round(time, 2) for time in times] for kind, times in kinds.items()}
    publish("import_cost", format_table(title, ("", "least", "median"), rows), data, options.write)


if __name__ == "__main__":
    main()
