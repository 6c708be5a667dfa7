"""Measure which share of the catalogue the files of vectors catch: python -m meta_tests.measure.vectors [--write] [--from DIR]

It exports the vectors of every operation, as `spec-tests vectors` does by default, which takes half an hour. --from reads the
folder of an earlier export instead.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from spec_tests.commands import main as spec_tests

from ..support.paths import MEASURED


def format_table(records: list[dict[str, Any]]) -> str:
    caught, count = (sum(record[key] for record in records) for key in ("caught", "deviations"))
    size, vectors = (sum(record[key] for record in records) for key in ("bytes", "vectors"))
    kinds: dict[str, Counter[str]] = {}
    for record in records:
        for kind, (found, of) in record["caught of each kind"].items():
            kinds.setdefault(kind, Counter()).update(caught=found, count=of)
    lines = [
        f"{vectors} vectors of {len(records)} operations and gradients, {size / 1e6:.1f} MB, "
        f"catch {caught} of {count} deviations ({caught / count:.0%}).",
        "",
        *(
            f"{kind:<12} {n['caught']:>5} of {n['count']:>5} ({n['caught'] / n['count']:.0%})"
            for kind, n in sorted(kinds.items())
        ),
        "",
        f"{'operation':<36} vectors  chosen     bytes  caught",
        *(
            f"{r['operation']:<36} {r['vectors']:>7} {r['chosen']:>7} {r['bytes']:>9}  {r['caught']} of {r['deviations']}"
            for r in records
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write docs/measured/vectors.json and vectors.txt")
    parser.add_argument("--from", dest="folder", type=Path, metavar="DIR", help="the folder of an earlier export")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if options.folder is None:
            spec_tests(["vectors", f"--export={folder}"])
        text = format_table(json.loads((folder / "vectors.json").read_text())["operations"])
        print(text)
        if options.write:
            shutil.copy(folder / "vectors.json", MEASURED / "vectors.json")
            (MEASURED / "vectors.txt").write_text(text)


if __name__ == "__main__":
    main()
