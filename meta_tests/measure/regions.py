"""Describe where the deviations are wrong that have no equation of their own, and check each region on fresh calls.

python -m meta_tests.measure.regions [DEVIATION or FILE of spec_tests/deviations …] [--count N] [--seed 1] [--work 1e9]
    [--new] [--write]

--write adds each row to docs/measured/regions.json and .txt as soon as it is computed. --new leaves out deviations that have a
row there. The deviations are taken in a random order, so that an unfinished run is a fair sample. --count ends after so many;
0 only writes the summary.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from typing import Any

from spec_tests.calls.violation import NoAnswer
from spec_tests.deviations import Deviation, catalogue
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.regions.search import find_wrong_region
from spec_tests.diagnosis.wish import Wish
from spec_tests.inputs.effort import EFFORTS
from spec_tests.specification.work import Budget
from spec_tests.trials.asker import ask_about, describe_failure_kind

from ..support.in_process import attempt, backend, trials_of
from ..support.paths import MEASURED
from ..support.region_check import ask_fresh, count_mispredicted

FILE = MEASURED / "regions.json"

FRESH = 60  # calls on which a region is checked

Row = dict[str, Any]


def list_deviations() -> list[Deviation]:
    """Return the deviations of kind fault, and those of every operation: they have no equation that the diagnosis could name."""
    return [d for d in catalogue().values() if d.kind == "fault" or "every_operation__" in d.function.__module__]


def describe(deviation: Deviation, seed: int, units: float) -> Row | None:
    """Return the row of a deviation: the region found after the first failure, and how it predicts. None if nothing failed."""
    under_test = backend(f"deviation:{deviation.id}")
    for test, trial in trials_of(deviation.operation, under_test):
        law = test.invariant.id_for(trial.operation_name)
        if law not in deviation.caught_by or not deviation.shows_in(trial.dtype):
            continue
        if (violation := attempt(test, trial, seed)) is None:
            continue
        calls = trial.tally.failure.calls if trial.tally.failure else []
        evidence = Evidence.gather(calls, trial.find_other_calls(calls))
        operation, start = trial.operation(deviation.operation), time.process_time()
        budget = Budget(under_test.meter, units)
        ask = ask_about(operation, seed=seed, budget=budget)
        failure = describe_failure_kind(violation) if isinstance(violation, NoAnswer) else ""
        region = find_wrong_region(evidence, ask=ask, budget=budget, failure=failure)
        row: Row = {"law": law, "dtype": trial.dtype, "seconds": round(time.process_time() - start, 1), "asked": ask.count}
        checking = ask_about(operation, seed=f"fresh {seed}")
        if region is None:
            wishes = list(filter(None, (checking(Wish(as_drawn=number % 2 == 0)) for number in range(FRESH // 2))))
            return {**row, "region": None, "fails_when_asked": any(answer.failure for answer in wishes)}
        answers = list(ask_fresh(region, checking, FRESH, seed, evidence.wrong))
        missed = count_mispredicted(region, answers)
        return {**row, "region": region.what, "told": region.facts[0][1], "fresh": len(answers), "mispredicted": missed}
    return None


def summarize(rows: dict[str, Row]) -> Iterator[str]:
    """Yield the lines of regions.txt."""
    described = {name: row for name, row in rows.items() if row["region"]}
    showing = [row for row in rows.values() if row["region"] or row["fails_when_asked"]]
    seconds = sorted(row["seconds"] for row in rows.values())
    missed = [name for name, row in described.items() if row["mispredicted"]]
    yield f"{len(rows)} deviations without an equation of their own; {len(showing)} show in an answer that can be asked for"
    yield f"{len(described)} regions described, of which {len(missed)} mispredict one of {FRESH} fresh calls"
    yield f"seconds: median {seconds[len(seconds) // 2]}, largest {seconds[-1]}"
    yield ""
    for name, row in sorted(rows.items()):
        text = row["region"] or ("no region" if row["fails_when_asked"] else "right in every answer asked for")
        miss = f"  MISPREDICTS {row['mispredicted']} of {row['fresh']}" if row["region"] and row["mispredicted"] else ""
        yield f"{name:<66} {text}{miss}"


def read_rows() -> dict[str, Row]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def write_rows(rows: dict[str, Row]) -> None:
    FILE.write_text(json.dumps(dict(sorted(rows.items())), indent=1, ensure_ascii=False) + "\n")
    FILE.with_suffix(".txt").write_text("\n".join(summarize(rows)) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="DEVIATION or FILE")
    parser.add_argument("--count", type=int, help="of deviations; all, if it is not given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=float, default=EFFORTS["default"].failure_work, help="units for each search")
    parser.add_argument("--new", action="store_true", help="leave out deviations that have a row")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    rows = read_rows() if options.write or options.new else {}
    deviations = list_deviations()
    random.Random(options.seed).shuffle(deviations)
    for deviation in deviations[: options.count]:
        file = deviation.function.__module__.rpartition(".")[2]
        if (options.names and not {deviation.id, file} & set(options.names)) or (options.new and deviation.id in rows):
            continue
        row = describe(deviation, options.seed, options.work)
        print(f"{deviation.id:<66} {row and (row['region'] or '-')}", flush=True)
        if row is not None:
            rows[deviation.id] = row
        if options.write:
            write_rows(rows)
    if options.write:
        write_rows(rows)
    print("", *summarize(rows), sep="\n")


if __name__ == "__main__":
    main()
