"""Count the causes that a whole run reports of each deviation, which is one bug and should have one cause.

python -m meta_tests.measure.causes [DEVIATION or OPERATION …] [--effort default] [--seed 1] [--workers 2]

Each line has the deviation, the number of causes and their keys, the work after failures of each operation, and the failing
examples of each cause.
"""

from __future__ import annotations

import argparse
import random
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from spec_tests.deviations import deviations_of, find
from spec_tests.specification.run_settings import RunSettings, set_settings

from ..support.in_process import attempt, backend, trials
from .kill_matrix import select_deviations


@dataclass
class Count:
    """The causes that were found in one deviation."""

    id: str
    keys: list[str]
    failing: list[int]  # examples of each cause
    work: int  # the most that an operation's failures cost

    def line(self) -> str:
        causes = ", ".join(f"{key} ({count})" for key, count in zip(self.keys, self.failing, strict=True))
        return f"{self.id:<62} {len(self.keys)} in {self.work:.3g} units: {causes}"


def count_causes(job: tuple[str, int, str]) -> Count:
    """Try every law on the deviation, as a run does, and return what causes it found."""
    name, seed, effort = job
    set_settings(RunSettings(effort))
    under_test, operation = backend(f"deviation:{name}"), name.partition("/")[0]
    concerned = {operation, f"{operation}_vjp"}
    tried = [pair for pair in trials(under_test) if pair[0].invariant.subject(pair[1].operation_name) in concerned]
    for test, trial in sorted(
        tried, key=lambda pair: (pair[0].invariant.subject(pair[1].operation_name), pair[1].dtype == "float64")
    ):
        if test.invariant.level is None:
            attempt(test, trial, seed, shrink=True)
    found = under_test.causes
    work = max(under_test.work_after_failures.values(), default=0)
    return Count(name, [" or ".join(cause.ids) for cause in found], [cause.failures.total() for cause in found], work)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="ids of deviations, or operations; all, if none is given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--effort", default="default")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sample", type=int, help="only so many, chosen by the seed")
    options = parser.parse_args()
    names = [found for name in options.names for found in ([name] if find(name) else [d.id for d in deviations_of(name)])]
    names = names or select_deviations()
    if options.sample:
        names = random.Random(options.seed).sample(names, min(options.sample, len(names)))
    counts = []
    with ProcessPoolExecutor(options.workers) as pool:
        for count in pool.map(count_causes, [(name, options.seed, options.effort) for name in names]):
            counts.append(count)
            print(count.line(), flush=True)
    work = max((count.work for count in counts), default=0)
    none, one = (sum(len(count.keys) == number for count in counts) for number in (0, 1))
    print(f"{one} of {len(counts)} have one cause, {none} none; at most {work:.3g} units after the failures of an operation")


if __name__ == "__main__":
    main()
