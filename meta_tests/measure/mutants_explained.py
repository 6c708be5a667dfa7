"""Measure how many machine-made bugs are explained by an equation or a region, with half of the rules of the search withheld.

The bugs are mutants of the reference equations and of the NumPy backend, made by `benchmarks/mutation.py`. A sample of them is
drawn with a seed. Rules of the search that make the same changes would only recognize themselves, so half of those rules
are withheld (see rule_split.py). Where no equation is found, a region is looked for in the time that is left, as in a run.
As in leave_one_out.py, what is found must predict the answers to fresh calls; so must a region.

python -m meta_tests.measure.mutants_explained [--count 400] [--seed 1] [--seconds 5] [--workers 2] [--all-rules]
    --write FILE [--new]
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

from benchmarks.wrong_implementations import WrongImplementation, list_mutants
from spec_tests.diagnosis.wrong_region import find_wrong_region
from spec_tests.implementation.backend import Backend
from spec_tests.specification.composition import parts_of
from spec_tests.trials.asker import ask_about
from spec_tests.trials.causes import EQUATION_SHARE
from spec_tests.trials.trial import Trial

from ..support.region_check import ask_fresh, count_mispredicted
from .leave_one_out import EXPLAINED, FRESH_CALLS, NOTHING, UNSEEN, WRONG, Row, add_options, examine, first_failure, measure
from .rule_split import WITHHELD

CHECKING_SECONDS = 60.0  # for the fresh answers on which a region is checked

Job = tuple[int, int, float, frozenset[str]]


def draw_mutants(count: int, seed: int) -> list[int]:
    """Return the numbers of mutants, half of them of equations and half of the backend."""
    mutants, source = list_mutants(), random.Random(f"mutants {seed}")
    chosen = []
    for origin in ("equation", "backend"):
        numbers = [i for i, mutant in enumerate(mutants) if mutant.origin == origin]
        chosen += source.sample(numbers, min(count // 2, len(numbers)))
    return chosen


def key(mutant: WrongImplementation) -> str:
    return f"{mutant.origin} {mutant.id}"


def _examine_mutant(job: Job) -> Row:
    number, seed, seconds, withheld = job
    mutant = list_mutants()[number]
    for operation in sorted(mutant.operations, key=lambda name: (len(parts_of(name)), name)):
        under_test = mutant.backend()
        row = examine(key(mutant), operation, under_test, seed, EQUATION_SHARE * seconds, withheld=withheld)
        if row.outcome == NOTHING:
            return look_for_region(row, operation, under_test, seconds - row.seconds)
        if row.outcome != UNSEEN:
            return row
    return Row(key(mutant), seed, UNSEEN)


def look_for_region(row: Row, operation: str, under_test: Backend, seconds: float) -> Row:
    """Return the row of a bug without an equation, with the region that is found and how it predicts fresh answers."""
    failure = first_failure(under_test, operation, {f"{operation}.reference"}, row.seed)
    if failure is None:
        return row
    evidence, dtype = failure
    called, start = Trial(under_test, dtype).operation(operation), time.process_time()
    ask = ask_about(called, seed=0, seconds=seconds, clock=time.process_time)
    region = find_wrong_region(evidence, ask=ask, deadline=start + seconds, clock=time.process_time)
    row.seconds = round(row.seconds + time.process_time() - start, 2)
    if region is not None:
        checking = ask_about(called, seed=f"fresh {row.seed}", seconds=CHECKING_SECONDS, clock=time.process_time)
        answers = list(ask_fresh(region, checking, FRESH_CALLS, row.seed))
        row.mispredicted = count_mispredicted(region, answers)
        row.predicted = len(answers) - row.mispredicted
        row.equation, row.kind = region.what, "region"
        row.outcome = WRONG if row.mispredicted else EXPLAINED
    return row


def count_kinds(rows: dict[str, Row]) -> str:
    """Return how many bugs are explained by an equation, and how many by a region."""
    explained = [row for row in rows.values() if row.outcome == EXPLAINED]
    equations = sum(row.kind == "equation" for row in explained)
    return f"{equations} explained by an equation, {len(explained) - equations} by a region"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400, help="of mutants")
    parser.add_argument("--all-rules", action="store_true", help="withhold no rule")
    add_options(parser)
    options = parser.parse_args()
    withheld = frozenset[str]() if options.all_rules else WITHHELD
    mutants, numbers = list_mutants(), draw_mutants(options.count, options.seed)
    random.Random(options.seed).shuffle(numbers)  # so that an unfinished run is a fair sample
    jobs: dict[str, Any] = {key(mutants[number]): (number, options.seed, options.seconds, withheld) for number in numbers}
    what = "machine-made bugs, with every rule" if options.all_rules else "machine-made bugs, with half of the rules withheld"
    print(count_kinds(measure(jobs, _examine_mutant, options, what)))


if __name__ == "__main__":
    main()
