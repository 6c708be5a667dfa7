"""The kill matrix: which invariant catches which deviation, in which dtype, after how many examples, and what it is called.

python -m meta_tests.kill_matrix [DEVIATION or OPERATION …] [--seed 1 …] [--effort default] [--shrink] [--write FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spec_tests import effort
from spec_tests.deviation import Deviation, catalogue, find, own
from spec_tests.diagnosis import diagnose
from spec_tests.operation import Call
from spec_tests.tree import leaves

from .running import attempt, backend, concerning


@dataclass
class Attempt:
    """One deviation, tried by one invariant in one dtype."""

    deviation: str
    invariant: str
    kind: str
    level: str | None
    dtype: str
    seed: int
    caught: bool
    examples: int  # tried until it was caught, or in all
    seconds: float
    elements: int  # of the arrays of the failing example
    named: list[str]  # the diagnosis


def attempts(deviation: Deviation, seed: int, *, only: frozenset[str] = frozenset(), shrink: bool = False) -> Iterator[Attempt]:
    under_test = backend(f"deviation:{deviation.id}")
    for test, trial in concerning(deviation.operation, under_test):
        described = test.invariant
        if (only and described.of(trial.subject) not in only) or trial.dtype not in (*deviation.dtypes, "bool", "int64"):
            continue
        start = time.perf_counter()
        violation = attempt(test, trial, seed, shrink=shrink)
        seconds, progress = time.perf_counter() - start, trial.progress
        named = diagnose([*progress.calls, *progress.evidence]) if violation else []
        yield Attempt(
            deviation.id, described.of(trial.subject), described.kind, described.level, trial.dtype, seed, violation is not None,
            progress.examples + len(progress.refusals), round(seconds, 3), elements(progress.calls), [one.id for one in named],
        )  # fmt: skip


def elements(calls: list[Call]) -> int:
    """The numbers that a person has to look at: those of the largest call's arrays."""
    sizes = (sum(math.prod(leaf.shape) for _, leaf in leaves(call.named) if hasattr(leaf, "shape")) for call in calls)
    return max(sizes, default=0)


def _work(job: tuple[str, int, str, bool]) -> list[dict[str, Any]]:
    name, seed, chosen, shrink = job
    effort.choose(chosen)
    found = find(name)
    assert found is not None
    return [asdict(one) for one in attempts(found, seed, shrink=shrink)]


def matrix(
    names: list[str], seeds: list[int], chosen: str, workers: int, *, shrink: bool = False
) -> Iterator[list[dict[str, Any]]]:
    jobs = [(name, seed, chosen, shrink) for name in names for seed in seeds]
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_work, jobs)


def summary(rows: list[dict[str, Any]]) -> str:
    """One line for a deviation: how it was caught, and what it was called."""
    name = rows[0]["deviation"]
    caught = [row for row in rows if row["caught"] and row["level"] is None]
    if not caught:
        return f"{name:<62} SURVIVES {sum(row['examples'] for row in rows)} examples"
    invariants = sorted({row["invariant"].partition(".")[2] for row in caught})
    missed = sorted(set(catalogue()[name].caught_by) - {row["invariant"] for row in caught})
    diagnosed = [row["named"] for row in caught if row["named"]]
    right = sum(named[0] == name for named in diagnosed)
    wrong = sorted({named[0] for named in diagnosed} - {name})
    line = f"{name:<62} caught by {len(invariants):>2}, named {right} of {len(diagnosed)} of {len(caught)}"
    line += f", MISSED by {' '.join(missed)}" if missed else ""
    return f"{line}, taken for {' '.join(wrong)}" if wrong else line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="ids of deviations, or operations; all, if none is given")
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--effort", default="default", choices=tuple(effort.EFFORTS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shrink", action="store_true", help="shrink each failing example, as a user's run does")
    parser.add_argument("--write", type=Path, help="a JSON Lines file for every attempt")
    options = parser.parse_args()
    names = [one for name in options.names for one in ([name] if find(name) else [d.id for d in own(name)])]
    out = options.write.open("w") if options.write else None
    for rows in matrix(names or list(catalogue()), options.seed, options.effort, options.workers, shrink=options.shrink):
        print(summary(rows), flush=True)
        for row in rows:
            if out:
                print(json.dumps(row), file=out)


if __name__ == "__main__":
    main()
