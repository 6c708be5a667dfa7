"""What the plugin costs a pytest run that has nothing to do with it: every run in the environment imports it.

python -m benchmarks.import_cost [--times 15] [--write DIR]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from .cpu_time import measured, publish, table

PLUGIN = "spec_tests.plugin"
IMPORT = f"import pytest, time; start = time.process_time(); import {PLUGIN}; print(time.process_time() - start)"


def milliseconds(folder: Path, *options: str) -> float:
    used = measured("-m", "pytest", "-q", "-p", "no:cacheprovider", *options, folder=folder)
    if used.code:
        raise RuntimeError(used.text)
    return 1000 * used.cpu


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_one.py").write_text("def test_one():\n    pass\n")
        alone, beside, own = [], [], []
        for _ in range(options.times):  # in turn, so that what else the machine does meets all alike
            alone.append(milliseconds(folder, "-p", f"no:{PLUGIN}"))
            beside.append(milliseconds(folder))
            own.append(1000 * float(measured("-c", IMPORT, folder=folder).text))
    kinds = {"pytest alone": alone, "with the plugin installed": beside, "the import itself": own}
    rows = [(kind, f"{min(found):.1f}", f"{statistics.median(found):.1f}") for kind, found in kinds.items()]
    added = [one - other for one, other in zip(beside, alone, strict=True)]  # of neighbours
    rows.append(("what the plugin adds", f"{min(beside) - min(alone):.1f}", f"{statistics.median(added):.1f}"))
    text = table(f"An unrelated pytest run of one empty test, CPU ms, {options.times} times", ("", "least", "median"), rows)
    publish("import_cost", text, {kind: [round(one, 2) for one in found] for kind, found in kinds.items()}, options.write)


if __name__ == "__main__":
    main()
