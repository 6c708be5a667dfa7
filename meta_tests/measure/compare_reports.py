"""Compare the verdicts of two reports: python -m meta_tests.measure.compare_reports BEFORE AFTER

BEFORE and AFTER are folders that `--report=DIR` wrote, or folders of such folders. Every verdict record must be equal. Seconds,
the texts of messages and the fields that --ignore names are left out. Two runs are comparable if they have the same seed
(`--hypothesis-seed=1`) and the same effort, and PYTHONHASHSEED=0 is set. The exit status is 1 if a record differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spec_tests.report import DATA, read

IGNORED = ("seconds", "failure")  # how long it took, and the wording of a failure


def reports(folder: Path) -> dict[str, Path]:
    """The report in a folder, or those in its folders, by name."""
    if (folder / DATA).is_file():
        return {folder.name: folder}
    return {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{DATA}"))}


def differences(before: Path, after: Path, ignored: tuple[str, ...] = IGNORED) -> Iterator[str]:
    """Yield one line for each verdict record that is not equal in the two reports."""
    old, new = ({verdict["node"]: verdict for verdict in read(path).verdicts} for path in (before, after))
    for node in dict.fromkeys([*old, *new]):
        if node not in old or node not in new:
            yield f"{node}: only {'before' if node in old else 'after'}"
            continue
        for field in dict.fromkeys([*old[node], *new[node]]):
            one, other = old[node].get(field), new[node].get(field)
            if field not in ignored and not _equal(one, other):
                yield f"{node}: {field} {one!r} -> {other!r}"


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))  # NaN is equal to NaN


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--ignore", action="append", default=[], metavar="FIELD", help="leave out this field as well")
    options = parser.parse_args(argv)
    old, new = reports(options.before), reports(options.after)
    if old.keys() != new.keys() and not len(old) == len(new) == 1:
        parser.error(f"the folders do not hold the same reports: {', '.join(old)}; {', '.join(new)}")
    worst = 0
    for (name, before), after in zip(old.items(), new.values(), strict=True):
        found = list(differences(before, after, (*IGNORED, *options.ignore)))
        print(f"{name}: {len(read(before).verdicts)} records, {len(found)} differences", *found[:20], sep="\n  ")
        worst = max(worst, bool(found))
    return worst


if __name__ == "__main__":
    sys.exit(main())
