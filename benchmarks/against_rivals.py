"""Compare this suite with other test suites: which wrong implementations each detects, and in how many CPU seconds.

python -m benchmarks.against_rivals [--count 100] [--only cs336 opinfo …] [--workers 2] [--write DIR]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from meta_tests.support.kept_rows import compute_rows

from . import rivals
from .cpu_time import format_table, measure_least_cpu, publish, use_one_core
from .equivalence import CALLS_PER_DTYPE, find_difference
from .ourselves import find_first_failure
from .wrong_implementations import WrongImplementation, list_catalogued, list_mutants

EFFORTS = ("default", "smoke")
OUR_START = ("-m", "pytest", "--pyargs", "spec_tests", "--collect-only", "-q", "--backend=numpy-cpu")
EQUIVALENT = f"they give the very bits of the correct code in {2 * CALLS_PER_DTYPE} calls in every dtype."
GROUPS = {"catalogue": "bugs of this project's catalogue", "machine": "bugs made by a machine: mutations of correct code"}


@dataclass
class Outcome:
    """What each judge made of one wrong implementation."""

    id: str
    group: str
    kind: str
    seen: dict[str, tuple[bool, float]] = field(default_factory=dict)  # judge that calls the operation: detected, CPU seconds
    by: str = ""  # this suite's invariant that fails first
    apart: str = ""  # if this suite misses a mutant: how far its answers are from the correct ones
    equivalent: bool = False  # no judge detects the mutant, and its answers have the bits of the correct ones


def judge_implementation(wrong: WrongImplementation, names: tuple[str, ...]) -> Outcome:
    """Let this suite, at each effort, and the rivals `names` judge one wrong implementation."""
    outcome = Outcome(wrong.id, wrong.group, wrong.origin)
    for effort in EFFORTS:
        start = time.process_time()
        failed, _ = find_first_failure(wrong, effort)
        outcome.seen[effort] = bool(failed), round(time.process_time() - start, 4)
        outcome.by = outcome.by or failed
    for name in names:
        judge, backend = _load_judge(name), wrong.backend()
        if called := judge.select_operations(wrong.operations, wrong.dtypes):
            start = time.process_time()
            detected = not all(judge.passes(backend, operation) for operation in called)
            outcome.seen[name] = detected, round(time.process_time() - start, 4)
    if wrong.group == "machine" and not outcome.seen["default"][0]:
        difference = find_difference(wrong)
        outcome.equivalent = difference is None and not any(detected for detected, _ in outcome.seen.values())
        if difference:
            outcome.apart = f"{difference.share:.1e} of the largest number, {difference.operation}, {difference.dtype}"
    return outcome


@cache
def _load_judge(name: str) -> rivals.Judge:
    judge: rivals.Judge = rivals.load_rival(name).build_judge()
    return judge


@cache
def _implementations() -> dict[str, WrongImplementation]:
    return {wrong.id: wrong for wrong in (*list_catalogued(), *list_mutants())}


def _judge_job(job: tuple[str, tuple[str, ...]]) -> dict[str, Any]:
    name, names = job
    return asdict(judge_implementation(_implementations()[name], names))


def select_ids(count: int) -> list[str]:
    """Return the ids of about `count` wrong implementations of each group, spread evenly over the group."""
    groups = [[wrong.id for wrong in _implementations().values() if wrong.group == group] for group in GROUPS]
    return [name for group in groups for name in group[:: max(1, len(group) // count)]]


def find_installed(names: list[str]) -> Iterator[str]:
    """Yield the rivals whose libraries are installed, and print why the others are left out."""
    for name in names:
        try:
            _load_judge(name)
            yield name
        except rivals.Absent as absence:
            print(f"left out: {absence}")


@dataclass(frozen=True)
class Standing:
    """What is known of one judge before it judges a bug: its cost to start and its test cases."""

    name: str
    title: str
    start: float  # CPU seconds of a process before its first case
    cases: int = 0
    alarms: int = 0  # cases left out because correct code fails them

    def format_row(self, bugs: list[Outcome], ours: Standing) -> list[Any]:
        """Return the judge's row of the table; the last two columns are this suite's results on the same bugs."""
        applicable = [bug for bug in bugs if self.name in bug.seen]
        detected, cpu = _sum_detections(applicable, self.name)
        ours_detected, ours_cpu = _sum_detections(applicable, ours.name)
        starts = len(applicable)
        return [
            self.title, self.cases or "", self.alarms or "", len(applicable), detected,
            _format_share(detected, applicable), _format_share(detected, bugs), f"{cpu:.2f}", f"{self.start:.2f}",
            _format_rate(detected, cpu), _format_rate(detected, cpu + self.start * starts),
            ours_detected, _format_rate(ours_detected, ours_cpu + ours.start * starts),
        ]  # fmt: skip


HEADERS = (
    "judge", "cases", "left\nout", "appli-\ncable", "detec-\nted", "of appli-\ncable", "of all", "CPU s\njudging",
    "CPU s\na start", "per CPU s\njudging", "per CPU s\nin all", "this suite,\nthe same", "per CPU s\nin all",
)  # fmt: skip


def measure_standing(judge: str) -> Standing:
    """Measure what a process of this judge costs before its first case. An empty START means that this suite is started."""
    rival_start = judge not in EFFORTS and rivals.load_rival(judge).START
    command = ("-W", "ignore", "-c", rival_start) if rival_start else OUR_START
    start = measure_least_cpu(3, *command, variables={"OMP_NUM_THREADS": "1"})
    if judge in EFFORTS:
        return Standing(judge, f"this suite, {judge} effort", start)
    return Standing(judge, rivals.load_rival(judge).TITLE, start, _load_judge(judge).cases, _load_judge(judge).alarms)


def _sum_detections(outcomes: list[Outcome], judge: str) -> tuple[int, float]:
    """Return how many of the bugs the judge detects, and the CPU seconds that it took."""
    return sum(outcome.seen[judge][0] for outcome in outcomes), sum(outcome.seen[judge][1] for outcome in outcomes)


def _format_share(detected: int, bugs: list[Outcome]) -> str:
    return f"{detected / max(len(bugs), 1):.1%}"


def _format_rate(detected: int, seconds: float) -> str:
    return f"{detected / seconds:.2f}" if seconds else ""


def format_report(standings: list[Standing], outcomes: list[Outcome]) -> str:
    real = [outcome for outcome in outcomes if not outcome.equivalent]
    parts = []
    for group, title in GROUPS.items():
        bugs = [outcome for outcome in real if outcome.group == group]
        rows = (standing.format_row(bugs, standings[0]) for standing in standings)
        parts.append(format_table(f"{len(bugs)} {title}", HEADERS, rows, disable_numparse=True))
    mutants = sum(outcome.group == "machine" for outcome in outcomes)
    parts.append(f"{len(outcomes) - len(real)} of {mutants} mutants are left out: {EQUIVALENT}")
    missed = [outcome for outcome in real if not outcome.seen["default"][0]]
    parts.append(f"{len(missed)} bugs fail no required invariant of this suite at default effort:")
    titles = {standing.name: standing.title for standing in standings if standing.name not in EFFORTS}
    for bug in missed:
        others = ", ".join(titles[name] for name, (detected, _) in bug.seen.items() if detected and name in titles)
        parts.append(f"  {bug.id}\n      {bug.apart or 'shows in a level'}; detected by {others or 'none of the others'}")
    return "\n".join(parts) + "\n"


def format_headline(standings: list[Standing], outcomes: list[Outcome]) -> str:
    """Return the table that the README quotes: this suite at two efforts and the best of the others, on each group of bugs."""
    groups = [[bug for bug in outcomes if bug.group == group and not bug.equivalent] for group in GROUPS]

    def describe(title: str, judge: Standing) -> str:
        rows = [judge.format_row(bugs, standings[0]) for bugs in groups]
        return f"| {title} | {rows[0][6]} | {rows[1][6]} | {rows[0][10]} and {rows[1][10]} |"

    def count_detected(judge: Standing) -> int:
        return _sum_detections([bug for bugs in groups for bug in bugs if judge.name in bug.seen], judge.name)[0]

    best = max((judge for judge in standings if judge.name not in (*EFFORTS, "hypothesis_arrays_bounded")), key=count_detected)
    catalogued, mutated = map(len, groups)
    return "\n".join([
        f"| test suite | of {catalogued} bugs of our catalogue | of {mutated} mutations of correct code | bugs per CPU second |",
        "|---|---|---|---|",
        describe("spec_tests", standings[0]),
        describe("spec_tests `--effort=smoke`", standings[1]),
        describe(f"best of the others: {best.title}", best),
    ])  # fmt: skip


def read_results(path: Path) -> tuple[list[Standing], list[Outcome]]:
    data = json.loads(path.read_text())
    return [Standing(**fields) for fields in data["judges"]], [Outcome(**fields) for fields in data["bugs"]]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="about so many bugs of each group")
    parser.add_argument("--only", nargs="*", default=rivals.list_rivals(), choices=rivals.list_rivals(), help="these rivals")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    use_one_core()
    names = tuple(find_installed(options.only))
    jobs = {f"{name} by {' '.join(names)}": (name, names) for name in select_ids(options.count)}
    rows = compute_rows("against_rivals", jobs, _judge_job, options.workers, initializer=use_one_core)
    outcomes = [Outcome(**row) for row in rows]
    standings = [measure_standing(judge) for judge in (*EFFORTS, *names)]
    text = format_report(standings, outcomes) + "\n" + format_headline(standings, outcomes) + "\n"
    publish("against_rivals", text, {"judges": list(map(asdict, standings)), "bugs": list(map(asdict, outcomes))}, options.write)


if __name__ == "__main__":
    main()
