"""Two bugs at once: does the diagnosis name one of them, none, or wrongly a third?

python -m meta_tests.measure.two_bugs [--pairs 200] [--seed 1] [--workers 2]
"""

from __future__ import annotations

import argparse
import random
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import wraps
from typing import Any

from spec_tests.deviations import SUBSTITUTED, Deviation, OracleBackend, catalogue, deviations_of
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.fit import diagnose
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.composition import parts_of, substitute
from spec_tests.specification.registry import operations, specification

from ..support.in_process import attempt, trials_of

VERDICTS = ONE, NONE, THIRD = "named one of the two", "named none", "named a third"


def pairs() -> list[tuple[str, str]]:
    """Two deviations of one operation, or one of it and one of a part of it."""
    found = []
    for operation in operations():
        if specification(operation).dtype in ("bool", "int64"):
            continue
        first = [one for one in deviations_of(operation) if one.kind in SUBSTITUTED]
        second = [*first, *(one for part in parts_of(operation) for one in deviations_of(part) if one.kind in SUBSTITUTED)]
        found += [(a.id, b.id) for i, a in enumerate(first) for b in second[i + 1 :]]
    return found


def both(a: Deviation, b: Deviation) -> Deviation:
    """A part that deviates inside the deviating equation; or, of one operation, what each adds to the right value."""
    right = specification(a.operation).reference

    @wraps(right)
    def equation(*arguments: Any, **keywords: Any) -> Any:
        if b.operation != a.operation:
            with substitute(b.operation, b.function):
                return a.function(*arguments, **keywords)
        once, twice, truth = (f(*arguments, **keywords) for f in (a.function, b.function, right))
        return once + (twice - truth)

    return replace(a, function=equation)


def diagnosed(job: tuple[str, str, int]) -> list[tuple[str, str, list[str]]]:
    """Both bugs, and what each failing comparison with the oracle was called: several that explain it as well are a tie."""
    a, b, seed = catalogue()[job[0]], catalogue()[job[1]], job[2]
    inner = b.id if b.operation == a.operation else f"{a.operation}/{b.id}"
    oracle, called = OracleBackend(both(a, b)), []
    for test, trial in trials_of(a.operation, Backend("both", oracle, Framework("numpy"))):
        if test.invariant.of(trial.operation_name) == f"{a.operation}.reference" and attempt(test, trial, seed):
            called.append((a.id, inner, [one.id for one in diagnose(Evidence.gather(trial.tally.calls, trial.other_calls))]))
    return called


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    possible = pairs()
    chosen = random.Random(options.seed).sample(possible, min(options.pairs, len(possible)))
    counts = dict.fromkeys(VERDICTS, 0)
    with ProcessPoolExecutor(options.workers) as pool:
        for called in pool.map(diagnosed, [(*pair, options.seed) for pair in chosen]):
            for a, b, names in called:
                verdict = ONE if {a, b} & {*names} else THIRD if names else NONE
                counts[verdict] += 1
                if verdict == THIRD:
                    print(f"{a} with {b} was called {' or '.join(names)}", flush=True)
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    print(f"{len(chosen)} of {len(possible)} pairs, {sum(counts.values())} failures: {told}")


if __name__ == "__main__":
    main()
