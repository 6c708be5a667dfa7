"""Measure the work and the time that a run spends after failures: to shrink the examples and find the causes, for each operation.

Each backend has one bug: a deviation of the catalogue, or a machine-made bug, which nothing known explains, so that the searches
for an equation and for a region run. The laws of the operation are tried as a run tries them. The time is that of the processor.
The seconds of a unit of work in each stage say whether the costs in spec_tests/specification/tuned.py are right.

python -m meta_tests.measure.time_after_failure [--count 40] [--seed 1] [--effort default] [--workers 2] [--write] [--new]

--write adds each row to docs/measured/time_after_failure.json as soon as it is computed. --new leaves out bugs that have a row
there. With --count 0 it prints the summary of the file.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import wraps
from typing import Any

from benchmarks.wrong_implementations import list_mutants
from spec_tests.deviations import catalogue
from spec_tests.implementation.backend import Backend
from spec_tests.inputs.effort import EFFORTS
from spec_tests.specification.composition import parts_of
from spec_tests.specification.run_settings import RunSettings, set_settings
from spec_tests.specification.work import Meter
from spec_tests.trials import causes
from spec_tests.trials.tally import Tally
from spec_tests.trials.trial import Trial

from ..support.in_process import attempt, backend, trials
from ..support.paths import MEASURED
from .mutants_explained import draw_mutants, key

FILE = MEASURED / "time_after_failure.json"
STAGES = (  # what is timed; the first holds the others
    (Trial, "after_failure"),
    (Tally, "shrink"),
    (Trial, "find_other_calls"),
    (causes, "explain"),
    (causes, "search"),
    (Trial, "find_region"),
)

Row = dict[str, Any]
Job = tuple[str, int | str, int, str]  # the name of the bug, its number or the id of its deviation, the seed, and the effort


def list_jobs(count: int, seed: int, effort: str) -> list[Job]:
    """Return as many machine-made bugs as deviations, in a random order."""
    source, mutants = random.Random(f"time {seed}"), list_mutants()
    deviations = [d.id for d in catalogue().values() if "every_operation__" not in d.function.__module__]
    jobs: list[Job] = [(name, name, seed, effort) for name in source.sample(deviations, count // 2)]
    jobs += [(key(mutants[number]), number, seed, effort) for number in draw_mutants(count - count // 2, seed)]
    source.shuffle(jobs)
    return jobs


class Stages:
    """Counts the work and the processor's seconds of each stage after a failure, on one backend."""

    def __init__(self, meter: Meter):
        self.meter, self.units, self.seconds = meter, Counter[str](), Counter[str]()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        units, start = self.meter.units, time.process_time()
        try:
            yield
        finally:
            self.units[name] += self.meter.units - units
            self.seconds[name] += time.process_time() - start

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Count the stages of what runs in the block."""
        replaced: list[tuple[Any, str, Any]] = []
        for owner, name in STAGES:
            replaced.append((owner, name, original := getattr(owner, name)))
            setattr(owner, name, self._wrap(name, original))
        try:
            yield
        finally:
            for owner, name, original in replaced:
                setattr(owner, name, original)

    def _wrap(self, name: str, function: Any) -> Any:
        if name in ("after_failure", "shrink"):  # return context managers

            @contextmanager
            def block(*arguments: Any) -> Iterator[Any]:
                with self.stage(name), function(*arguments) as given:
                    yield given

            return block

        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            with self.stage(name):
                return function(*arguments, **options)

        return call


def measure(job: Job) -> Row:
    """Try every law on the operation with the bug, and return the most that an operation's failures cost."""
    name, bug, seed, effort = job
    set_settings(RunSettings(effort))
    if isinstance(bug, int):
        mutant = list_mutants()[bug]
        under_test: Backend = mutant.backend()
        operation = min(mutant.operations, key=lambda name: (len(parts_of(name)), name))
    else:
        under_test, operation = backend(f"deviation:{bug}"), bug.partition("/")[0]
    stages = Stages(under_test.meter)
    with stages.watch():
        for test, trial in trials(under_test):
            if test.invariant.level is None and test.invariant.subject(trial.operation_name) == operation:
                attempt(test, trial, seed, shrink=True)
    return {
        "bug": name,
        "effort": effort,
        "seconds": round(stages.seconds["after_failure"], 2),
        "work": max(under_test.work_after_failures.values(), default=0),
        "stages": {name: [stages.units[name], round(stages.seconds[name], 3)] for name in sorted(stages.units)},
        "causes": [cause.kind for cause in under_test.causes],
    }


def summarize(rows: dict[str, Row]) -> Iterator[str]:
    """Yield the sentences about all rows."""
    failed = [row for row in rows.values() if row["causes"]]
    seconds, work = (sorted(row[name] for row in failed) for name in ("seconds", "work"))
    if failed:
        limit, middle = EFFORTS["default"].failure_work, len(failed) // 2
        yield f"{len(failed)} bugs that failed: median {seconds[middle]} s, longest {seconds[-1]} s after the failures"
        yield f"work: median {work[middle] / limit:.0%}, most {work[-1] / limit:.0%} of the limit of an operation"
    for stage in dict.fromkeys(name for row in failed for name in row["stages"]):
        counted = [row["stages"][stage] for row in failed if stage in row["stages"]]
        units, taken = (sum(column) for column in zip(*counted, strict=True))
        yield f"{stage}: {taken:.1f} s, {units:.3g} units, {1e9 * taken / max(units, 1):.2f} ns a unit"
    right = [row["seconds"] for row in rows.values() if not row["causes"]]
    yield f"{len(right)} bugs that did not fail: {max(right, default=0.0)} s"


def read_rows() -> dict[str, Row]:
    return {row["bug"]: row for row in json.loads(FILE.read_text())} if FILE.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="of bugs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--effort", default="default")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--new", action="store_true", help="only bugs that have no row")
    options = parser.parse_args()
    rows = read_rows() if options.new or options.write else {}
    jobs = [job for job in list_jobs(options.count, options.seed, options.effort) if not (options.new and job[0] in rows)]
    with ProcessPoolExecutor(options.workers) as pool:
        for row in pool.map(measure, jobs):
            rows[row["bug"]] = row
            print(f"{row['work']:>12} units {row['seconds']:>6} s  {row['bug']}  {', '.join(row['causes'])}", flush=True)
            if options.write:
                lines = ",\n".join(json.dumps(row, ensure_ascii=False) for _, row in sorted(rows.items()))
                FILE.write_text(f"[\n{lines}\n]\n")
    for line in summarize(rows):
        print(line)


if __name__ == "__main__":
    main()
