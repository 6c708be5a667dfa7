"""Read from the kill matrix how long it takes to detect each deviation: `python -m benchmarks.time_to_detection [--write DIR]`

`python -m meta_tests.measure.kill_matrix --write docs/measured/kill_matrix.json` makes the matrix. It runs the invariants in the
order of a run.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from pathlib import Path

from meta_tests.measure.detection import MATRIX
from meta_tests.measure.kill_matrix import Kill, read_matrix

from .cpu_time import format_table, publish

SLOWEST_COUNT = 10
HEADERS = ("operation", "deviations", "examples:\nmedian", "largest", "seconds:\nmedian", "largest")


def format_row(name: str, kills: list[Kill]) -> tuple[str | int | float, ...]:
    examples, seconds = [kill.examples or 0 for kill in kills], [kill.seconds or 0.0 for kill in kills]
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
    kills = [kill for kill in read_matrix(MATRIX) if kill.caught]
    by_operation: dict[str, list[Kill]] = defaultdict(list)
    for kill in kills:
        by_operation[kill.id.partition("/")[0]].append(kill)
    rows = [format_row(name, by_operation[name]) for name in sorted(by_operation)]
    text = format_table("Before the first failure, in the order of a run", HEADERS, [*rows, format_row("all", kills)])
    slow = sorted(kills, key=lambda kill: -(kill.seconds or 0.0))[:SLOWEST_COUNT]
    text += "\n" + format_table(
        "The slowest", ("deviation", "examples", "seconds"), ((kill.id, kill.examples, kill.seconds) for kill in slow)
    )
    publish("time_to_detection", text, {kill.id: [kill.examples, kill.seconds] for kill in kills}, options.write)


if __name__ == "__main__":
    main()
