"""How long it takes to detect each deviation, from the kill matrix: `python -m benchmarks.time_to_detection [--write DIR]`

`python -m meta_tests.measure.kill_matrix --write docs/measured/kill_matrix.json` makes that matrix,
every invariant in the order of a run.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from pathlib import Path

from meta_tests.measure.detection import MATRIX
from meta_tests.measure.kill_matrix import Kill, read

from .cpu_time import publish, table

SLOWEST = 10
HEADERS = ("operation", "deviations", "examples:\nmedian", "largest", "seconds:\nmedian", "largest")


def row(name: str, kills: list[Kill]) -> tuple[str | int | float, ...]:
    examples, seconds = [one.examples or 0 for one in kills], [one.seconds or 0.0 for one in kills]
    return (
        name,
        len(kills),
        statistics.median(examples),
        max(examples),
        f"{statistics.median(seconds):.2f}",
        f"{max(seconds):.2f}",
    )


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    kills = [one for one in read(MATRIX) if one.caught]
    by: dict[str, list[Kill]] = defaultdict(list)
    for one in kills:
        by[one.id.partition("/")[0]].append(one)
    rows = [row(name, by[name]) for name in sorted(by)]
    text = table("Before the first failure, in the order of a run", HEADERS, [*rows, row("all", kills)])
    slow = sorted(kills, key=lambda one: -(one.seconds or 0.0))[:SLOWEST]
    text += "\n" + table(
        "The slowest", ("deviation", "examples", "seconds"), ((one.id, one.examples, one.seconds) for one in slow)
    )
    publish("time_to_detection", text, {one.id: [one.examples, one.seconds] for one in kills}, options.write)


if __name__ == "__main__":
    main()
