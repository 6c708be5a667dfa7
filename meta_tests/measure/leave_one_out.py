"""Measure how many bugs of the catalogue are explained without the catalogue, by an equation or a region.

Each equation and convention of the catalogue is put into the oracle. The first law that names it fails, and the search for the
nearest equation is given the calls of that failure. It knows nothing of the catalogue. Where it finds no equation, a region is
looked for with the work that is left, as in a run. What is found must predict the answers to fresh calls, drawn with other seeds
than any call that was seen: an equation or a region that mispredicts one of them is counted as wrong.

python -m meta_tests.measure.leave_one_out [DEVIATION or OPERATION …] [--seed 1] [--work 826e6] --write FILE [--new]

--write adds each row to FILE as soon as it is computed. --new leaves out deviations that have a row there.
Without any deviation to compute, it prints the summary of FILE.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.deviations import SUBSTITUTED, catalogue, deviations_of, find
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.explanation import Explanation
from spec_tests.diagnosis.regions.region import Region
from spec_tests.diagnosis.regions.search import find_wrong_region
from spec_tests.diagnosis.wish import Wish
from spec_tests.implementation.backend import Backend
from spec_tests.inputs.chosen_draw import draw_small_call
from spec_tests.specification.work import Budget
from spec_tests.trials.asker import answer_instead, ask_about, choose
from spec_tests.trials.failure_budget import work_left, work_to_search
from spec_tests.trials.new_cause import search
from spec_tests.trials.trial import Trial

from ..support.in_process import attempt, backend, trials_of
from ..support.region_check import ask_fresh, count_mispredicted

ASKED_CALLS = 160  # that the search may ask for, to tell equations apart
FRESH_CALLS = 60  # on which what was found must predict the answers
OUTCOMES = EXPLAINED, NOTHING, WRONG, UNSEEN = "explained", "not explained", "WRONG", "no wrong answer to explain"
MAX_ELEMENTS = 20_000  # in a call that is asked for


@dataclass
class Row:
    """What the search made of one bug."""

    id: str
    seed: int
    outcome: str
    dtype: str = ""
    equation: str = ""
    wrong: int = 0  # wrong answers among the evidence
    predicted: int = 0  # fresh calls whose answers were predicted
    mispredicted: int = 0
    seconds: float = 0.0  # of processor time that the search took
    work: int = 0  # units
    kind: str = "equation"  # what explains it: an equation or a region


def answered_calls(under_test: Backend, name: str, dtype: str, seed: str, count: int, wish: Wish | None = None) -> Iterator[Call]:
    """Yield fresh calls of an operation with the backend's answers.

    Every second call has every optional argument, unless there is a wish.
    """
    operation = Trial(under_test, dtype).operation(name)
    for example in range(count):
        with suppress(Exception):  # a call without a readable result is no evidence
            source = random.Random(f"{seed} {name} {dtype} {example}")
            all_arguments = wish is None and example % 2 == 1
            call = draw_small_call(operation, source, all_arguments=all_arguments, chosen=choose(wish) if wish else None)
            if call.size <= MAX_ELEMENTS:
                operation.values(call, operation.run(call))
                yield call


def first_failure(under_test: Backend, operation: str, laws: set[str], seed: int) -> tuple[Evidence, str] | None:
    """Return the evidence of the first failure in which the operation's own answers are wrong, and its dtype."""
    for test, trial in trials_of(operation, under_test):
        if test.invariant.id_for(trial.operation_name) not in laws:
            continue
        if attempt(test, trial, seed):
            evidence = Evidence.gather(trial.tally.calls, trial.other_calls)
            if evidence.wrong and evidence.wrong[0].operation.name == operation:
                return evidence, trial.dtype
    return None


def examine(name: str, operation: str, under_test: Backend, seed: int, units: float, **options: Any) -> Row:
    """Let a backend fail, search for its equation and then for a region, and test what is found on fresh calls."""
    deviation = find(name) if name in catalogue() else None
    laws = set(deviation.caught_by) if deviation else {f"{operation}.reference"}
    failure = first_failure(under_test, operation, laws, seed)
    if failure is None:
        return Row(name, seed, UNSEEN)
    evidence, dtype = failure
    budget, start, before = Budget(under_test.meter, units), time.process_time(), under_test.meter.units
    row = Row(name, seed, NOTHING, dtype, wrong=len(evidence.wrong))
    questions = _Questions(under_test, dtype, seed)
    found = search(evidence, operation, questions, budget, catalogue=False, **options)
    row.seconds, row.work = round(time.process_time() - start, 2), under_test.meter.units - before
    if isinstance(found, Region):
        return judge_region(row, found, Trial(under_test, dtype).operation(operation), evidence)
    return (
        row
        if found is None
        else judge(row, found, list(answered_calls(under_test, operation, dtype, f"fresh {seed}", FRESH_CALLS)))
    )


@dataclass(frozen=True)
class _Questions:
    """Answers the questions of the search with calls that are drawn with the seed, so that others are fresh."""

    under_test: Backend
    dtype: str
    seed: int

    def ask(self, name: str, wish: Wish | None = None) -> Iterator[Call]:
        return answered_calls(self.under_test, name, self.dtype, f"asked {self.seed}", ASKED_CALLS, wish)

    def answer_instead(self, call: Call, arguments: dict[str, Any]) -> Call | None:
        return answer_instead(call, arguments)

    def ask_in_float32(self, call: Call) -> Call | None:
        return None

    def find_region(self, name: str, evidence: Evidence, budget: Budget, halves: Sequence[Explanation]) -> Region | None:
        ask = ask_about(Trial(self.under_test, self.dtype).operation(name), seed=0, budget=budget)
        return find_wrong_region(evidence, ask=ask, budget=budget, halves=halves)


def judge(row: Row, found: Explanation, fresh: list[Call]) -> Row:
    predictions = [found.predicts(call) for call in fresh]
    row.equation, row.predicted, row.mispredicted = found.id, predictions.count(True), predictions.count(False)
    row.outcome = WRONG if row.mispredicted else EXPLAINED
    return row


def judge_region(row: Row, region: Region, operation: Operation, evidence: Evidence) -> Row:
    """Return the row of a bug without an equation, with the region that was found and how it predicts fresh answers."""
    answers = list(ask_fresh(region, ask_about(operation, seed=f"fresh {row.seed}"), FRESH_CALLS, row.seed, evidence.wrong))
    row.mispredicted = count_mispredicted(region, answers)
    row.predicted = len(answers) - row.mispredicted
    row.equation, row.kind = region.what, "region"
    row.outcome = WRONG if row.mispredicted else EXPLAINED
    return row


def examine_deviation(job: tuple[str, int, float]) -> Row:
    """Do one job: the id of a deviation, a seed, and the units of work."""
    name, seed, units = job
    deviation = find(name)
    assert deviation is not None
    return examine(name, deviation.operation, backend(f"deviation:{name}"), seed, units)


def read_rows(path: Path | None) -> dict[str, Row]:
    rows = [Row(**row) for row in json.loads(path.read_text())] if path and path.exists() else []
    return {row.id: row for row in rows}


def write_rows(path: Path, rows: dict[str, Row]) -> None:
    text = ",\n".join(json.dumps(asdict(row), ensure_ascii=False) for _, row in sorted(rows.items()))
    path.write_text(f"[\n{text}\n]\n")


def summarize(rows: dict[str, Row], what: str) -> Iterator[str]:
    counts, tried = Counter(row.outcome for row in rows.values()), [row for row in rows.values() if row.outcome != UNSEEN]
    times = sorted(row.seconds for row in tried)
    yield f"{len(tried)} {what}: " + ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES[:3])
    if tried:
        yield f"{counts[EXPLAINED] / len(tried):.0%} explained; median {times[len(times) // 2]} s, longest {times[-1]} s"
    predicted = sum(row.predicted for row in tried if row.outcome == EXPLAINED)
    yield f"{predicted} fresh answers predicted; {counts[UNSEEN]} bugs gave no wrong answer of their own"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=1)
    first = work_to_search(work_left(0.0))  # what a run gives to the first failure of an operation
    parser.add_argument("--work", type=float, default=first, help="units for each search")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", type=Path, help="a JSON file for the rows")
    parser.add_argument("--new", action="store_true", help="only what has no row in that file")
    parser.add_argument("--again", choices=OUTCOMES, nargs="*", default=(), help="compute rows with these outcomes again")


def measure(jobs: dict[str, Any], work: Any, options: argparse.Namespace, what: str) -> dict[str, Row]:
    """Do the jobs that have no row yet, write each row at once, print the summary, and return all rows."""
    rows = read_rows(options.write)
    done = {name for name, row in rows.items() if row.outcome not in options.again} if options.new or options.again else set()
    with ProcessPoolExecutor(options.workers) as pool:
        for future in as_completed([pool.submit(work, job) for name, job in jobs.items() if name not in done]):
            row = future.result()
            rows[row.id] = row
            print(f"{row.outcome:<20} {row.seconds:>5} s  {row.id}  {row.equation}", flush=True)
            if options.write:
                write_rows(options.write, rows)
    for line in summarize(rows, what):
        print(line)
    print(count_kinds(rows))
    return rows


def count_kinds(rows: dict[str, Row]) -> str:
    """Return how many bugs are explained by an equation, and how many by a region."""
    explained = [row for row in rows.values() if row.outcome == EXPLAINED]
    equations = sum(row.kind == "equation" for row in explained)
    return f"{equations} explained by an equation, {len(explained) - equations} by a region"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="ids of deviations, or operations; all, if none is given")
    add_options(parser)
    options = parser.parse_args()
    names = [found for name in options.names for found in ([name] if find(name) else [d.id for d in deviations_of(name)])]
    chosen = [name for name in names or catalogue() if catalogue()[name].kind in SUBSTITUTED]
    random.Random(options.seed).shuffle(chosen)  # so that an unfinished run is a fair sample
    jobs = {name: (name, options.seed, options.work) for name in chosen}
    measure(jobs, examine_deviation, options, "equations and conventions of the catalogue")


if __name__ == "__main__":
    main()
