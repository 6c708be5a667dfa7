"""Measure how many machine-made bugs are explained by an equation or a region, with half of the rules of the search withheld.

The bugs are mutants of the reference equations and of the NumPy backend, made by `benchmarks/mutation.py`. A sample of them is
drawn with a seed. Rules of the search that make the same changes would only recognize themselves, so half of those rules
are withheld (see rule_split.py). As in leave_one_out.py, what is found must predict the answers to fresh calls.

python -m meta_tests.measure.mutants_explained [--count 400] [--seed 1] [--work 826e6] [--workers 2] [--all-rules]
    --write FILE [--new]
"""

from __future__ import annotations

import argparse
import random
from typing import Any

from benchmarks.wrong_implementations import WrongImplementation, list_mutants
from spec_tests.specification.composition import parts_of

from .leave_one_out import UNSEEN, Row, add_options, examine, measure
from .rule_split import WITHHELD

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
    number, seed, units, withheld = job
    mutant = list_mutants()[number]
    for operation in sorted(mutant.operations, key=lambda name: (len(parts_of(name)), name)):
        row = examine(key(mutant), operation, mutant.backend(), seed, units, withheld=withheld)
        if row.outcome != UNSEEN:
            return row
    return Row(key(mutant), seed, UNSEEN)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400, help="of mutants")
    parser.add_argument("--all-rules", action="store_true", help="withhold no rule")
    add_options(parser)
    options = parser.parse_args()
    withheld = frozenset[str]() if options.all_rules else WITHHELD
    mutants, numbers = list_mutants(), draw_mutants(options.count, options.seed)
    random.Random(options.seed).shuffle(numbers)  # so that an unfinished run is a fair sample
    jobs: dict[str, Any] = {key(mutants[number]): (number, options.seed, options.work, withheld) for number in numbers}
    what = "machine-made bugs, with every rule" if options.all_rules else "machine-made bugs, with half of the rules withheld"
    measure(jobs, _examine_mutant, options, what)


if __name__ == "__main__":
    main()
