"""Measure which share of the catalogue the files of vectors catch: python -m meta_tests.measure.vectors [--write] [--from DIR]

It exports the vectors of each operation, as `spec-tests vectors` does by default, which takes half an hour. --from reads the
folder of an earlier export instead.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from spec_tests.commands import main as spec_tests
from spec_tests.specification.registry import gradients, operations

from ..support.kept_rows import KeptRows
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


def export_vectors(names: tuple[str, ...]) -> dict[str, Any]:
    """Return what `vectors.json` says of the exports of these operations and gradients, one after the other."""
    kept = KeptRows("vectors")
    for name in names:
        if name not in kept.rows:
            with tempfile.TemporaryDirectory() as folder:
                spec_tests(["vectors", name, f"--export={folder}"])
                kept.add(name, json.loads(Path(folder, "vectors.json").read_text()))
    summaries = [kept.rows[name] for name in names]
    return {**summaries[0], "operations": [record for summary in summaries for record in summary["operations"]]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write docs/measured/vectors.json and vectors.txt")
    parser.add_argument("--from", dest="folder", type=Path, metavar="DIR", help="the folder of an earlier export")
    options = parser.parse_args()
    every = (*operations(), *gradients())
    summary = json.loads((options.folder / "vectors.json").read_text()) if options.folder else export_vectors(every)
    text = format_table(summary["operations"])
    print(text)
    if options.write:
        (MEASURED / "vectors.json").write_text(json.dumps(summary, indent=1) + "\n")
        (MEASURED / "vectors.txt").write_text(text)


if __name__ == "__main__":
    main()
