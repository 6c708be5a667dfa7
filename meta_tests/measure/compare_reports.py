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
from spec_tests.report.records import to_record

IGNORED = ("seconds", "failure")  # the duration, and the texts of a failure's message


def find_reports(folder: Path) -> dict[str, Path]:
    """Return the report in a folder, or the reports in its folders, by the folders' names."""
    if (folder / DATA).is_file():
        return {folder.name: folder}
    return {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{DATA}"))}


def find_differences(before: Path, after: Path, ignored: tuple[str, ...] = IGNORED) -> Iterator[str]:
    """Yield one line for each verdict record that is not equal in the two reports."""
    old, new = ({verdict.node: to_record(verdict) for verdict in read(path).verdicts} for path in (before, after))
    for node in dict.fromkeys([*old, *new]):
        if node not in old or node not in new:
            yield f"{node}: only {'before' if node in old else 'after'}"
            continue
        for field in dict.fromkeys([*old[node], *new[node]]):
            old_value, new_value = old[node].get(field), new[node].get(field)
            if field not in ignored and not _is_equal(old_value, new_value):
                yield f"{node}: {field} {old_value!r} -> {new_value!r}"


def _is_equal(x: Any, y: Any) -> bool:
    return bool(x == y or (x != x and y != y))  # NaN is equal to NaN


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--ignore", action="append", default=[], metavar="FIELD", help="leave out this field as well")
    options = parser.parse_args(argv)
    old, new = find_reports(options.before), find_reports(options.after)
    if old.keys() != new.keys() and not len(old) == len(new) == 1:
        parser.error(f"the folders do not hold the same reports: {', '.join(old)}; {', '.join(new)}")
    status = 0
    for (name, before), after in zip(old.items(), new.values(), strict=True):
        found = list(find_differences(before, after, (*IGNORED, *options.ignore)))
        print(f"{name}: {len(read(before).verdicts)} records, {len(found)} differences", *found[:20], sep="\n  ")
        status = max(status, bool(found))
    return status


if __name__ == "__main__":
    sys.exit(main())
