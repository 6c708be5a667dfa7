"""Try backends with two bugs at once, and count how often the diagnosis names both of them, one, none, or wrongly a third.

python -m meta_tests.measure.two_bugs [--pairs 200] [--seed 1] [--workers 2]

Two known bugs of an operation, or of its parts, are drawn, and the one is put inside the other. A pair in which one of the bugs
explains all wrong answers alone is not counted: it is one bug there.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from functools import partial

from spec_tests.deviations import (
    SUBSTITUTED,
    Deviation,
    deviations_of,
    deviations_of_parts,
    find,
    join,
    put_into_oracle,
)
from spec_tests.diagnosis.fit import explains
from spec_tests.diagnosis.known_deviations import diagnose
from spec_tests.diagnosis.known_pairs import find_pair
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.registry import operations, specification
from spec_tests.specification.work import Budget
from spec_tests.trials.causes import PAIRS_SHARE
from spec_tests.trials.failure_budget import work_left, work_to_search

from ..support.kept_rows import compute_rows
from .leave_one_out import ASKED_CALLS, answered_calls, first_failure

VERDICTS = NAMED_BOTH, NAMED_ONE, NAMED_NONE, NAMED_THIRD = "named both", "named one", "named none", "named a third"
HIDDEN = "one hides the other"  # or neither shows


def list_bugs(operation: str) -> list[Deviation]:
    """Return the bugs of an operation, and of its parts inside it, that can be put into one another."""
    return [bug for bug in (*deviations_of(operation), *deviations_of_parts(operation)) if bug.kind in SUBSTITUTED]


def draw_pairs(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield the ids of so many pairs of bugs. No operation comes twice before every other one came once."""
    source = random.Random(seed)
    possible = [name for name in operations() if specification(name).dtype not in ("bool", "int64") and len(list_bugs(name)) > 1]
    names = [name for _ in range(-(-count // len(possible))) for name in source.sample(possible, len(possible))]
    for name in names[:count]:
        outer, inner = source.sample(list_bugs(name), 2)
        yield outer.id, inner.id


def diagnose_pair(job: tuple[str, str, int]) -> tuple[str, list[str]]:
    """Return what the diagnosis makes of a pair, and the ids that it names, for the first failing comparison with the oracle."""
    *names, seed = job
    outer, inner = (found for name in names if (found := find(name)))
    operation, pair = outer.operation, join(outer, inner)
    under_test = Backend("both", put_into_oracle(operation, pair.function), Framework("numpy"))
    failure = first_failure(under_test, operation, {f"{operation}.reference"}, seed)
    if failure is None:
        return HIDDEN, []
    evidence, dtype = failure
    if any(all(explains(bug, call) for call in evidence.wrong) for bug in (outer, inner)):
        return HIDDEN, []
    ask = partial(answered_calls, under_test, operation, dtype, f"asked {seed}", ASKED_CALLS)
    named = [deviation.id for deviation in diagnose(evidence, ask=ask)]
    if named:
        return (NAMED_ONE if {*names} & {*named} else NAMED_THIRD), named
    found = find_pair(evidence, Budget(under_test.meter, PAIRS_SHARE * work_to_search(work_left(0.0))), ask)
    if found is None:
        return NAMED_NONE, []
    return (NAMED_BOTH if found.id in {pair.id, join(inner, outer).id} else NAMED_THIRD), [found.id]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    counts = dict.fromkeys((*VERDICTS, HIDDEN), 0)
    jobs = {f"{a} with {b}, seed {options.seed}": (a, b, options.seed) for a, b in draw_pairs(options.pairs, options.seed)}
    for key, (verdict, named) in zip(jobs, compute_rows("two_bugs", jobs, diagnose_pair, options.workers), strict=True):
        counts[verdict] += 1
        print(f"{verdict}: {key}{f' was called {named}' if verdict == NAMED_THIRD else ''}", flush=True)
    print(f"{len(jobs)} pairs: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


if __name__ == "__main__":
    main()
