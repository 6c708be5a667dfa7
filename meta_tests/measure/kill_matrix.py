"""Compute the kill matrix: which invariant catches which deviation, in which dtype, after how many examples.

The matrix also says what the diagnosis names.

python -m meta_tests.measure.kill_matrix [DEVIATION or OPERATION …] [--seed 1] [--effort default] [--shapes N] [--shrink]
[--new] [--write FILE]

--write adds each row to FILE as soon as it is computed. --new leaves out deviations that have a row there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spec_tests.deviations import catalogue, deviations_of, find
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.known_deviations import diagnose
from spec_tests.inputs import effort
from spec_tests.specification.registry import gradients, operations
from spec_tests.specification.run_settings import RunSettings, set_settings

from ..support.in_process import attempt, backend, trials_of
from ..support.kept_rows import compute_rows


@dataclass
class Kill:
    """A row of the matrix: one deviation, tried by every invariant that involves its operation, in every dtype."""

    id: str
    seed: int
    caught: dict[str, dict[str, int]] = field(default_factory=dict)  # invariant, dtype: examples up to the first failure
    levels: dict[str, dict[str, int]] = field(default_factory=dict)  # the same for levels, which do not fail a run
    named: Counter[str] = field(
        default_factory=Counter
    )  # its own id if the diagnosis names it, else the first id named, else "": how often
    tied: int = 0  # how often other deviations were named beside its own id
    elements: list[int] = field(default_factory=list)  # how many numbers each failing example has
    examples: int | None = None  # up to the first failure of all, in the order of a run
    seconds: float | None = None

    @property
    def misses(self) -> list[str]:
        """The invariants that the deviation names and that did not catch it."""
        found = find(self.id)
        return sorted(set(found.caught_by) - {*self.caught, *self.levels}) if found else []

    @property
    def detected(self) -> bool:
        """Whether the deviation fails a run or, if only levels can catch it, loses every level that it names."""
        return bool(self.caught) or not self.misses

    def line(self) -> str:
        if not self.detected:
            return f"{self.id:<62} SURVIVES"
        if not self.caught:
            return f"{self.id:<62} loses {', '.join(self.levels)}"
        names = Counter({name: count for name, count in self.named.items() if name})
        line = f"{self.id:<62} caught by {len(self.caught):>2}, first after {self.examples} examples, {self.seconds:.1f} s; "
        line += f"named {names[self.id]} of {self.named.total()}"
        if names.keys() - {self.id}:
            line += f", TAKEN FOR {' '.join(sorted(names.keys() - {self.id}))}"
        return line + (f", MISSED by {' '.join(self.misses)}" if self.misses else "")


MAX_PER_FAULT = 3  # operations in which a fault of every operation is tried


def select_deviations() -> list[str]:
    """Return the ids of all deviations; of a fault that many operations have, those of a few operations."""
    by: dict[Any, list[str]] = defaultdict(list)
    for deviation in catalogue().values():
        by[deviation.function].append(deviation.id)
    return [name for ids in by.values() for name in (ids if len(ids) <= MAX_PER_FAULT else ids[:: -(-len(ids) // MAX_PER_FAULT)])]


def try_deviation(name: str, seed: int, *, shrink: bool = False, named: bool = False) -> Kill:
    deviation, under_test = find(name), backend(f"deviation:{name}")
    assert deviation is not None
    found, tried, seconds = Kill(name, seed), 0, 0.0
    for test, trial in trials_of(deviation.operation, under_test):
        law = test.invariant.id_for(trial.operation_name)
        if not deviation.shows_in(trial.dtype):
            continue
        if named and (law not in deviation.caught_by or law in {*found.caught, *found.levels}):
            continue
        start = time.perf_counter()
        violation = attempt(test, trial, seed, shrink=shrink)
        tally = trial.tally
        seconds, tried = seconds + time.perf_counter() - start, tried + tally.examples
        if violation is None:
            continue
        if test.invariant.level:
            found.levels.setdefault(law, {})[trial.dtype] = tally.examples
            continue
        if found.examples is None:
            found.examples, found.seconds = tried, round(seconds, 2)
        found.caught.setdefault(law, {})[trial.dtype] = tally.examples
        names = [deviation.id for deviation in diagnose(Evidence.gather(tally.calls, trial.other_calls))]
        found.named[name if name in names else names[0] if names else ""] += 1
        found.tied += name in names and len(names) > 1
        found.elements.append(max((call.size for call in tally.calls), default=0))  # of the largest call of the example
    return found


def _try_job(job: tuple[str, int, tuple[str, int | None], dict[str, bool]]) -> dict[str, Any]:
    name, seed, (effort_name, shapes), options = job
    set_settings(RunSettings(effort_name, shape_count=shapes))
    return vars(try_deviation(name, seed, **options))


def try_deviations(
    names: list[str], seeds: list[int], effort_name: str = "default", workers: int = 2, shapes: int | None = None, **options: bool
) -> Iterator[Kill]:
    how = " ".join([effort_name, *(name for name, given in options.items() if given)])
    jobs = {f"{name} {seed} {shapes}": (name, seed, (effort_name, shapes), options) for name in names for seed in seeds}
    for row in compute_rows(f"kill_matrix {how}", jobs, _try_job, workers):
        yield read_row(row)


def read_row(row: dict[str, Any]) -> Kill:
    return Kill(**{**row, "named": Counter(row["named"])})


def read_matrix(path: Path) -> list[Kill]:
    return [read_row(row) for row in json.loads(path.read_text())] if path.exists() else []


def write_matrix(path: Path, kills: list[Kill]) -> None:
    order = {name: i for i, name in enumerate(catalogue())}
    in_order = sorted(kills, key=lambda kill: (order[kill.id], kill.seed))
    rows = ",\n".join(json.dumps(vars(kill), sort_keys=True) for kill in in_order)
    path.write_text(f"[\n{rows}\n]\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="ids of deviations, or operations; all, if none is given")
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--effort", default="default", choices=tuple(effort.EFFORTS))
    parser.add_argument("--shapes", type=int, help="of each operation at most, as a run with --shapes has them")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shrink", action="store_true", help="shrink each failing example, as a user's run does")
    parser.add_argument("--named", action="store_true", help="only by the invariants that must catch it")
    parser.add_argument("--write", type=Path, help="a JSON file for the matrix")
    parser.add_argument("--new", action="store_true", help="only what has no row in that file")
    options = parser.parse_args()
    every = {*operations(), *gradients()}
    if unknown := [name for name in options.names if name not in every and not (name.partition("/")[0] in every and find(name))]:
        parser.error(f"there is no deviation or operation {unknown[0]!r}; `spec-tests list deviations` prints the ids")
    names = [found for name in options.names for found in ([name] if find(name) else [d.id for d in deviations_of(name)])]
    names = names or (list(catalogue()) if options.named else select_deviations())
    settings = {"shrink": options.shrink, "named": options.named}
    written = {(kill.id, kill.seed): kill for kill in (read_matrix(options.write) if options.write else [])}
    names = [name for name in names if not (options.new and any((name, seed) in written for seed in options.seed))]
    kills = []
    for kill in try_deviations(names, options.seed, options.effort, options.workers, options.shapes, **settings):
        if not options.named or kill.misses:
            print(kill.line(), flush=True)
        kills.append(kill)
        if options.write:
            written[kill.id, kill.seed] = kill
            write_matrix(options.write, [row for row in written.values() if row.id in catalogue()])
    median = statistics.median([size for kill in kills for size in kill.elements] or [0])
    caught, missed = sum(kill.detected for kill in kills), sum(bool(kill.misses) for kill in kills)
    print(f"{caught} of {len(kills)} caught, {missed} not by all that they name; median {median} numbers in a failing example")


if __name__ == "__main__":
    main()
