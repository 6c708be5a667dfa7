"""The kill matrix: which invariant catches which deviation, in which dtype, after how many examples, and what it is called.

python -m meta_tests.measure.kill_matrix [DEVIATION or OPERATION …] [--seed 1] [--effort default] [--shapes N] [--shrink]
[--new] [--write FILE]

--write puts each row into FILE as it is found, among those of other runs; --new leaves out what has a row there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spec_tests.deviations import catalogue, deviations_of, find
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.fit import diagnose
from spec_tests.inputs import effort

from ..support.in_process import attempt, backend, trials_of


@dataclass
class Kill:
    """One deviation, tried by every invariant that its operation has a part in, in every dtype."""

    id: str
    seed: int
    caught: dict[str, dict[str, int]] = field(default_factory=dict)  # invariant, dtype: examples before the first that failed
    levels: dict[str, dict[str, int]] = field(default_factory=dict)  # the same of those that a run only reports
    named: Counter[str] = field(default_factory=Counter)  # its own name, or else the first in the diagnosis, or ""; how often
    tied: int = 0  # of its own: beside others that explain the answers as well
    elements: list[int] = field(default_factory=list)  # the numbers in each failing example
    examples: int | None = None  # before the first failure of all, in the order of a run
    seconds: float | None = None

    @property
    def misses(self) -> list[str]:
        """The invariants that must catch it and did not."""
        found = find(self.id)
        return sorted(set(found.caught_by) - {*self.caught, *self.levels}) if found else []

    @property
    def detected(self) -> bool:
        """It fails a run; or, where nothing but a level can see it, it loses that level."""
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


FEW = 3


def spread() -> list[str]:
    """Every deviation, and of each fault those of a few operations."""
    by: dict[Any, list[str]] = defaultdict(list)
    for one in catalogue().values():
        by[one.function].append(one.id)
    return [name for ids in by.values() for name in (ids if len(ids) <= FEW else ids[:: -(-len(ids) // FEW)])]


def kill(name: str, seed: int, *, shrink: bool = False, named: bool = False) -> Kill:
    deviation, under_test = find(name), backend(f"deviation:{name}")
    assert deviation is not None
    found, tried, spent = Kill(name, seed), 0, 0.0
    for test, trial in trials_of(deviation.operation, under_test):
        law = test.invariant.of(trial.operation_name)
        if not deviation.shows_in(trial.dtype):
            continue
        if named and (law not in deviation.caught_by or law in {*found.caught, *found.levels}):
            continue
        start = time.perf_counter()
        violation = attempt(test, trial, seed, shrink=shrink)
        progress = trial.tally
        spent, tried = spent + time.perf_counter() - start, tried + progress.examples
        if violation is None:
            continue
        if test.invariant.level:
            found.levels.setdefault(law, {})[trial.dtype] = progress.examples
            continue
        if found.examples is None:
            found.examples, found.seconds = tried, round(spent, 2)
        found.caught.setdefault(law, {})[trial.dtype] = progress.examples
        names = [one.id for one in diagnose(Evidence.gather(progress.calls, trial.other_calls))]
        found.named[name if name in names else names[0] if names else ""] += 1
        found.tied += name in names and len(names) > 1
        found.elements.append(max((call.size for call in progress.calls), default=0))  # a person looks at the largest
    return found


def _work(job: tuple[str, int, tuple[str, int | None], dict[str, bool]]) -> Kill:
    name, seed, (chosen, shapes), how = job
    effort.set_effort(chosen, shapes=shapes)
    return kill(name, seed, **how)


def matrix(
    names: list[str], seeds: list[int], chosen: str = "default", workers: int = 2, shapes: int | None = None, **how: bool
) -> Iterator[Kill]:
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_work, [(name, seed, (chosen, shapes), how) for name in names for seed in seeds])


def read(path: Path) -> list[Kill]:
    kills = [Kill(**row) for row in json.loads(path.read_text())] if path.exists() else []
    for one in kills:
        one.named = Counter(one.named)
    return kills


def write(path: Path, kills: list[Kill]) -> None:
    order = {name: i for i, name in enumerate(catalogue())}
    rows = ",\n".join(json.dumps(vars(one), sort_keys=True) for one in sorted(kills, key=lambda one: (order[one.id], one.seed)))
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
    names = [one for name in options.names for one in ([name] if find(name) else [d.id for d in deviations_of(name)])]
    names = names or (list(catalogue()) if options.named else spread())
    how = {"shrink": options.shrink, "named": options.named}
    known = {(one.id, one.seed): one for one in (read(options.write) if options.write else [])}
    names = [name for name in names if not (options.new and any((name, seed) in known for seed in options.seed))]
    kills = []
    for one in matrix(names, options.seed, options.effort, options.workers, options.shapes, **how):
        if not options.named or one.misses:
            print(one.line(), flush=True)
        kills.append(one)
        if options.write:
            known[one.id, one.seed] = one
            write(options.write, [each for each in known.values() if each.id in catalogue()])
    median = statistics.median([size for one in kills for size in one.elements] or [0])
    caught, missed = sum(one.detected for one in kills), sum(bool(one.misses) for one in kills)
    print(f"{caught} of {len(kills)} caught, {missed} not by all that they name; median {median} numbers in a failing example")


if __name__ == "__main__":
    main()
