"""This suite against others' tests: which wrong implementations each detects, and for how many CPU seconds.

python -m benchmarks.against_rivals [--count 100] [--only cs336 opinfo …] [--workers 2] [--write DIR]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from . import rivals
from .cpu_time import least, one_core, publish, table
from .equivalence import DRAWN, difference
from .ourselves import first_failure
from .wrong_implementations import Subject, by_machine, by_name

OURS = ("default", "smoke")
START = ("-m", "pytest", "--pyargs", "spec_tests", "--collect-only", "-q", "--backend=numpy-cpu")
EQUIVALENT = f"they give the very bits of the correct code in {2 * DRAWN} calls in every dtype."
GROUPS = {"catalogue": "bugs of this project's catalogue", "machine": "bugs made by a machine: mutations of correct code"}


@dataclass
class Outcome:
    id: str
    group: str
    kind: str
    seen: dict[str, tuple[bool, float]] = field(default_factory=dict)  # by each that calls the operation: detected, CPU seconds
    by: str = ""  # the invariant that fails first
    apart: str = ""  # of what this suite misses: how far its answers come to be from the right ones
    equivalent: bool = False


def judged(subject: Subject, names: tuple[str, ...]) -> Outcome:
    outcome = Outcome(subject.id, subject.group, subject.origin)
    for effort in OURS:
        start = time.process_time()
        failed, _ = first_failure(subject, effort)
        outcome.seen[effort] = bool(failed), round(time.process_time() - start, 4)
        outcome.by = outcome.by or failed
    for name in names:
        judging, backend = _judging(name), subject.backend()
        if called := judging.sees(subject.operations, subject.dtypes):
            start = time.process_time()
            detected = not all(judging.passes(backend, operation) for operation in called)
            outcome.seen[name] = detected, round(time.process_time() - start, 4)
    if subject.group == "machine" and not outcome.seen["default"][0]:
        found = difference(subject)
        outcome.equivalent = found is None and not any(detected for detected, _ in outcome.seen.values())
        outcome.apart = f"{found.share:.1e} of the largest number, {found.operation}, {found.dtype}" if found else ""
    return outcome


@cache
def _judging(name: str) -> rivals.Judging:
    judging: rivals.Judging = rivals.rival(name).judging()
    return judging


@cache
def _subjects() -> dict[str, Subject]:
    return {one.id: one for one in (*by_name(), *by_machine())}


def _work(job: tuple[str, tuple[str, ...]]) -> Outcome:
    name, names = job
    return judged(_subjects()[name], names)


def chosen(count: int) -> list[str]:
    """About so many of each group, spread evenly over its list."""
    groups = [[one.id for one in _subjects().values() if one.group == group] for group in GROUPS]
    return [name for group in groups for name in group[:: max(1, len(group) // count)]]


def present(names: list[str]) -> Iterator[str]:
    for name in names:
        try:
            _judging(name)
            yield name
        except rivals.Absent as absence:
            print(f"left out: {absence}")


@dataclass(frozen=True)
class Standing:
    """One judge, as far as it does not depend on the bugs."""

    name: str
    title: str
    start: float  # CPU seconds of a process before its first case
    cases: int = 0
    alarms: int = 0

    def row(self, bugs: list[Outcome], ours: Standing) -> list[Any]:
        """What it makes of these bugs, and what this suite makes of those that it could see."""
        mine = [one for one in bugs if self.name in one.seen]
        detected, cpu = _sums(mine, self.name)
        same, same_cpu = _sums(mine, ours.name)
        return [
            self.title, self.cases or "", self.alarms or "", len(mine), detected, _share(detected, mine), _share(detected, bugs),
            f"{cpu:.2f}", f"{self.start:.2f}", _rate(detected, cpu), _rate(detected, cpu + self.start * len(mine)),
            same, _rate(same, same_cpu + ours.start * len(mine)),
        ]  # fmt: skip


HEADERS = (
    "judge", "cases", "left\nout", "appli-\ncable", "detec-\nted", "of appli-\ncable", "of all", "CPU s\njudging",
    "CPU s\na start", "per CPU s\njudging", "per CPU s\nin all", "this suite,\nthe same", "per CPU s\nin all",
)  # fmt: skip


def standing(judge: str) -> Standing:
    own = judge not in OURS and rivals.rival(judge).START
    start = least(3, *(("-W", "ignore", "-c", own) if own else START), variables={"OMP_NUM_THREADS": "1"})
    if judge in OURS:
        return Standing(judge, f"this suite, {judge} effort", start)
    return Standing(judge, rivals.rival(judge).TITLE, start, _judging(judge).cases, _judging(judge).alarms)


def _sums(outcomes: list[Outcome], judge: str) -> tuple[int, float]:
    return sum(one.seen[judge][0] for one in outcomes), sum(one.seen[judge][1] for one in outcomes)


def _share(detected: int, bugs: list[Outcome]) -> str:
    return f"{detected / max(len(bugs), 1):.1%}"


def _rate(detected: int, seconds: float) -> str:
    return f"{detected / seconds:.2f}" if seconds else ""


def report(standings: list[Standing], outcomes: list[Outcome]) -> str:
    real = [one for one in outcomes if not one.equivalent]
    parts = []
    for group, title in GROUPS.items():
        bugs = [one for one in real if one.group == group]
        rows = (each.row(bugs, standings[0]) for each in standings)
        parts.append(table(f"{len(bugs)} {title}", HEADERS, rows, disable_numparse=True))
    mutants = sum(one.group == "machine" for one in outcomes)
    parts.append(f"{len(outcomes) - len(real)} of {mutants} mutants are left out: {EQUIVALENT}")
    missed = [one for one in real if not one.seen["default"][0]]
    parts.append(f"{len(missed)} bugs fail no required invariant of this suite at default effort:")
    titles = {each.name: each.title for each in standings if each.name not in OURS}
    for one in missed:
        others = ", ".join(titles[name] for name, (detected, _) in one.seen.items() if detected and name in titles)
        parts.append(f"  {one.id}\n      {one.apart or 'shows in a level'}; detected by {others or 'none of the others'}")
    return "\n".join(parts) + "\n"


def headline(standings: list[Standing], outcomes: list[Outcome]) -> str:
    """What the README quotes: the detected part of all bugs of each group, and how many in a CPU second."""
    groups = [[one for one in outcomes if one.group == group and not one.equivalent] for group in GROUPS]

    def said(judge: Standing) -> str:
        rows = [judge.row(bugs, standings[0]) for bugs in groups]
        return "{} and {}, at {} and {} in a CPU second".format(*(row[6] for row in rows), *(row[10] for row in rows))

    others = [one for one in standings if one.name not in (*OURS, "hypothesis_arrays_bounded")]
    best = max(others, key=lambda one: _sums([bug for bugs in groups for bug in bugs if one.name in bug.seen], one.name)[0])
    sizes = "Of {} bugs of its catalogue and {} that a machine made of correct code".format(*map(len, groups))
    ours = f"{sizes} this suite detects {said(standings[0])}, at smoke effort {said(standings[1])}"
    return f"{ours}; the best of the others ({best.title}) {said(best)}."


def read(path: Path) -> tuple[list[Standing], list[Outcome]]:
    data = json.loads(path.read_text())
    return [Standing(**one) for one in data["judges"]], [Outcome(**one) for one in data["bugs"]]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="about so many bugs of each group")
    parser.add_argument("--only", nargs="*", default=rivals.names(), choices=rivals.names(), help="these rivals")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", type=Path, help="a folder for the table and its data")
    options = parser.parse_args(argv)
    one_core()
    names = tuple(present(options.only))
    with ProcessPoolExecutor(options.workers, initializer=one_core) as pool:
        outcomes = list(pool.map(_work, [(name, names) for name in chosen(options.count)]))
    standings = [standing(judge) for judge in (*OURS, *names)]
    text = report(standings, outcomes) + "\n" + headline(standings, outcomes) + "\n"
    publish("against_rivals", text, {"judges": list(map(asdict, standings)), "bugs": list(map(asdict, outcomes))}, options.write)


if __name__ == "__main__":
    main()
