"""Measure what a tuned number decides: halve it and double it, and search for the causes of a sample of bugs.

python -m meta_tests.measure.constants NAME … [--sample 24] [--seed 1] [--work 826e6] [--workers 2]

NAME is a number of `spec_tests.specification.tuned`, such as WORK_OF_CANDIDATE, or the dotted name of a number that its own
module reads, such as spec_tests.diagnosis.equations.search.MAX_HOLES. Each row says how many bugs of the sample are explained
without the catalogue (`leave_one_out`), how many wrongly, and what that took. A number is well chosen where neither half of it
nor twice as much explains more.
"""

from __future__ import annotations

import argparse
import importlib
import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from spec_tests.deviations import SUBSTITUTED, catalogue
from spec_tests.specification import tuned
from spec_tests.trials.failure_budget import work_left, work_to_search

from .leave_one_out import EXPLAINED, UNSEEN, WRONG, Row, examine_deviation

FACTORS = (1, 0.5, 2)
HEAD = f"{'number':<28} {'value':>10}  explained  wrong  not  units of the median bug  CPU s in all"


def find_number(name: str) -> tuple[Any, str, float]:
    """Return the module that reads a number, the number's name there, and its value. Raise SystemExit if there is none."""
    place, _, own_name = name.rpartition(".")
    module = importlib.import_module(place) if place else tuned
    value = getattr(module, own_name, None)
    if not isinstance(value, int | float) or isinstance(value, bool):
        numbers = [key for key, held in vars(tuned).items() if key.isupper() and isinstance(held, int | float)]
        raise SystemExit(f"{name} is no number; there are {', '.join(numbers)}, and dotted names as in package.module.NAME")
    return module, own_name, value


def set_number(name: str, factor: float) -> float:
    """Multiply a number in this process, and return what it is then. A whole number stays one."""
    module, own_name, value = find_number(name)
    changed = type(value)(value * factor)
    setattr(module, own_name, changed)
    return changed


def choose_sample(count: int, seed: int) -> list[str]:
    names = [name for name in catalogue() if catalogue()[name].kind in SUBSTITUTED]
    return sorted(random.Random(seed).sample(names, min(count, len(names))))


def describe(name: str, value: float, rows: list[Row]) -> str:
    tried = [row for row in rows if row.outcome != UNSEEN]
    counts, work = Counter(row.outcome for row in tried), sorted(row.work for row in tried) or [0]
    numbers = f"{counts[EXPLAINED]:>9}  {counts[WRONG]:>5}  {len(tried) - counts[EXPLAINED] - counts[WRONG]:>3}"
    return f"{name:<28} {value:>10g}  {numbers}  {work[len(work) // 2]:>23.3g}  {sum(row.seconds for row in tried):>12.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="tuned numbers")
    parser.add_argument("--sample", type=int, default=24, help="bugs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=float, default=work_to_search(work_left(0.0)), help="units for each search")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    jobs = [(bug, options.seed, options.work) for bug in choose_sample(options.sample, options.seed)]
    found = {name: find_number(name) for name in options.names}
    print(HEAD)
    for name, (_, own_name, value) in found.items():
        for factor in FACTORS:
            with ProcessPoolExecutor(options.workers, initializer=set_number, initargs=(name, factor)) as pool:
                rows = list(pool.map(examine_deviation, jobs))
            print(describe(own_name, type(value)(value * factor), rows), flush=True)


if __name__ == "__main__":
    main()
