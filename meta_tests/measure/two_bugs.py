"""Try backends with two bugs at once, and count how often the diagnosis names one of them, none, or wrongly a third.

python -m meta_tests.measure.two_bugs [--pairs 200] [--seed 1] [--workers 2]
"""

from __future__ import annotations

import argparse
import random
from dataclasses import replace
from functools import wraps
from typing import Any

from spec_tests.deviations import SUBSTITUTED, Deviation, OracleBackend, catalogue, deviations_of, take_every_option
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.known_deviations import diagnose
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.composition import parts_of, substitute
from spec_tests.specification.registry import operations, specification

from ..support.in_process import attempt, trials_of
from ..support.kept_rows import compute_rows

VERDICTS = NAMED_ONE, NAMED_NONE, NAMED_THIRD = "named one of the two", "named none", "named a third"


def list_pairs() -> list[tuple[str, str]]:
    """Return pairs of ids: two deviations of one operation, or one of the operation and one of its parts."""
    found = []
    for operation in operations():
        if specification(operation).dtype in ("bool", "int64"):
            continue
        first = [deviation for deviation in deviations_of(operation) if deviation.kind in SUBSTITUTED]
        of_parts = (deviation for part in parts_of(operation) for deviation in deviations_of(part))
        second = [*first, *(deviation for deviation in of_parts if deviation.kind in SUBSTITUTED)]
        found += [(a.id, b.id) for i, a in enumerate(first) for b in second[i + 1 :]]
    return found


def combine(a: Deviation, b: Deviation) -> Deviation:
    """Return a deviation with both bugs.

    If b is a deviation of a part, the part deviates inside a's equation. If both are of one operation, the differences that each
    makes to the correct value are added.
    """
    reference = specification(a.operation).reference

    @wraps(reference)
    def equation(*arguments: Any, **keywords: Any) -> Any:
        if b.operation != a.operation:
            with substitute(b.operation, take_every_option(b)):
                return a.function(*arguments, **keywords)
        with_a, with_b, correct = (f(*arguments, **keywords) for f in (a.function, b.function, reference))
        return with_a + (with_b - correct)

    return replace(a, function=equation)


def diagnose_pair(job: tuple[str, str, int]) -> list[tuple[str, str, list[str]]]:
    """Return both ids, with the ids that the diagnosis names for each failing comparison with the oracle."""
    a, b, seed = catalogue()[job[0]], catalogue()[job[1]], job[2]
    inner = b.id if b.operation == a.operation else f"{a.operation}/{b.id}"
    oracle, diagnoses = OracleBackend(combine(a, b)), []
    for test, trial in trials_of(a.operation, Backend("both", oracle, Framework("numpy"))):
        if test.invariant.id_for(trial.operation_name) == f"{a.operation}.reference" and attempt(test, trial, seed):
            named = [deviation.id for deviation in diagnose(Evidence.gather(trial.tally.calls, trial.other_calls))]
            diagnoses.append((a.id, inner, named))
    return diagnoses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    possible = list_pairs()
    chosen = random.Random(options.seed).sample(possible, min(options.pairs, len(possible)))
    counts = dict.fromkeys(VERDICTS, 0)
    jobs = {f"{a} with {b}, seed {options.seed}": (a, b, options.seed) for a, b in chosen}
    for diagnoses in compute_rows("two_bugs", jobs, diagnose_pair, options.workers):
        for a, b, names in diagnoses:
            verdict = NAMED_ONE if {a, b} & {*names} else NAMED_THIRD if names else NAMED_NONE
            counts[verdict] += 1
            if verdict == NAMED_THIRD:
                print(f"{a} with {b} was called {' or '.join(names)}", flush=True)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    print(f"{len(chosen)} of {len(possible)} pairs, {sum(counts.values())} failures: {summary}")


if __name__ == "__main__":
    main()
