"""Compute how many examples of each law are planned, from what each law catches: spec_tests/inputs/planned_examples.py.

python -m meta_tests.measure.evidence [--try] [--workers 2] [--check]

docs/measured/evidence.json holds, for each deviation, the laws that catch it: in each dtype in how many runs, and how many
examples passed in all of them. Every law has its whole share of examples there. --try adds the deviations that it lacks, with one
run of each. Bugs for which the plan has more than the least number of examples are then tried with each seed up to SEEDS, by the
comparison with the oracle and by the laws that caught them before. --check writes nothing, and fails if the table of the sources
is another one.

A law that has caught a bug in a dtype in k runs, where t examples passed in all of them, is taken to catch it in k of t + k + 1
examples there. So a plan misses the bug with a chance that is a product over all laws and dtypes. Levels count only where no
required law catches the bug. The plan starts with the least number of examples. While it misses a bug too often, the law with the
best gain for its cost gets one more in each dtype.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from spec_tests.deviations import catalogue
from spec_tests.inputs import effort
from spec_tests.inputs.effort import using_effort
from spec_tests.inputs.planned_examples import plan_examples
from spec_tests.running.selection import cost_of
from spec_tests.trials.invariant import Invariant

from ..support.in_process import WRONG, attempt, backend, trials_of
from ..support.kept_rows import compute_rows
from ..support.paths import DOCS, ROOT
from .kill_matrix import select_deviations

EVIDENCE = DOCS / "measured" / "evidence.json"
TABLE = ROOT / "spec_tests" / "inputs" / "planned_examples.py"
WRONG_BACKEND = "wrong:"  # how the names of wrong backends begin, after their operation
MARK = "# --- written by python -m meta_tests.measure.evidence ---\n"

MISSED = 1 / 100  # of the runs: so often a known bug may be missed

MAX_WIDTH = 130  # of a line of the table

SEEDS = 4  # runs of a bug that needs more examples than the least; one run alone says little about how many it needs

Row = dict[str, Any]  # id, seeds: how many runs, and caught: {law: {dtype: [the runs that caught it, the examples that passed]}}


@dataclass(frozen=True)
class TriedLaw:
    """A law as a default run tries it on one operation."""

    invariant: Invariant
    cost: float
    dtypes: tuple[str, ...]

    @property
    def whole(self) -> int:
        """The examples of its whole share in each dtype."""
        share = effort.EFFORTS["default"].examples(self.cost, len(self.dtypes))
        return min(share, self.invariant.max_examples or share)

    def count(self, planned: int) -> int:
        """Return how many examples it gets in each dtype if so many are planned."""
        if self.invariant.compares_with_oracle:
            return self.whole
        share = effort.EFFORTS["default"].planned_examples(self.cost, len(self.dtypes), planned)
        return min(share, self.invariant.max_examples or share)


@cache
def tried_laws(operation: str, name: str) -> dict[str, TriedLaw]:
    """Return the laws that a default run tries on an operation of a backend, by their ids for it."""
    found: dict[str, tuple[Invariant, list[str]]] = {}
    with using_effort("default"):
        for test, trial in trials_of(operation, backend(name)):
            law = test.invariant.id_for(trial.operation_name)
            found.setdefault(law, (test.invariant, []))[1].append(trial.dtype)
        return {
            law: TriedLaw(one, cost_of(one, operation if one.is_general else ""), tuple(dtypes))
            for law, (one, dtypes) in found.items()
        }


def try_bug(job: tuple[str, int, frozenset[str]]) -> Row:
    """Try a deviation, or a wrong backend, with a seed, by the named laws or by all, each in its whole share: what catches it?"""
    name, seed, named = job
    operation, _, wrong = name.partition(f"/{WRONG_BACKEND}")
    deviation = None if wrong else catalogue()[name]
    operation = deviation.operation if deviation else operation
    caught: dict[str, dict[str, list[int]]] = {}
    laws = tried_laws(operation, "deviation:rms_norm/eps-outside-sqrt")
    with using_effort("default"):
        for test, trial in trials_of(operation, backend(f"wrong/{wrong}.py" if wrong else f"deviation:{name}")):
            law = test.invariant.id_for(trial.operation_name)
            is_tried = law in (named or laws) or test.invariant.compares_with_oracle
            if (deviation is None or deviation.shows_in(trial.dtype)) and law in laws and is_tried:
                trial.max_examples = max(laws[law].whole, effort.current_effort().skip_minimal_up_to + 1)
                is_caught = attempt(test, trial, seed) is not None
                caught.setdefault(law, {})[trial.dtype] = [int(is_caught), trial.tally.examples]
    return {"id": name, "caught": caught}


def join_runs(runs: Iterable[Row]) -> Row:
    """Return the row of a bug for several runs. A law that never caught the bug in a dtype has no entry there."""
    runs, counts = list(runs), dict[tuple[str, str], list[int]]()
    for run in runs:
        for law, dtypes in run["caught"].items():
            for dtype, known in dtypes.items():
                before = counts.get((law, dtype), [0, 0])
                counts[law, dtype] = [sum(pair) for pair in zip(before, known, strict=True)]
    caught: dict[str, dict[str, list[int]]] = {}
    for (law, dtype), known in counts.items():
        if known[0]:
            caught.setdefault(law, {})[dtype] = known
    return {"id": runs[0]["id"], "seeds": len(runs), "caught": caught}


def chance_to_miss(row: Row, counts: dict[str, int]) -> float:
    """Return the chance that a run misses a bug, if its laws have so many examples in each dtype."""
    return math.prod((1 - _chance(*known)) ** counts[law] for law, dtypes in row["caught"].items() for known in dtypes.values())


def _chance(runs: int, passed: int) -> float:
    """Return the chance that an example catches a bug that was caught in so many runs, where so many examples passed."""
    return runs / (passed + runs + 1)


def plan(rows: Iterable[Row]) -> dict[str, tuple[int, list[str]]]:
    """Return the laws that need more than the least number of examples: how many, and the bugs that need them."""
    planned: dict[str, tuple[int, list[str]]] = {}

    def examples_of(one: TriedLaw) -> int:
        invariant = one.invariant
        least = plan_examples(invariant.id, is_general=invariant.is_general, is_about_state=invariant.about_state, table={})
        return max(least, planned.get(invariant.id, (0,))[0])

    def chance(row: Row, laws: dict[str, TriedLaw]) -> float:
        return chance_to_miss(row, {law: laws[law].count(examples_of(laws[law])) for law in row["caught"] if law in laws})

    for row in sorted(rows, key=lambda row: row["id"]):
        laws = {law: one for law, one in _laws_of(row["id"]).items() if law in row["caught"]}
        laws = {law: one for law, one in laws.items() if not one.invariant.level} or laws
        row = {"id": row["id"], "caught": {law: dtypes for law, dtypes in row["caught"].items() if law in laws}}
        while row["caught"] and chance(row, laws) > MISSED:
            growing = [law for law, one in laws.items() if one.count(examples_of(one)) < one.whole]
            if not growing:
                break
            law = max(growing, key=lambda law: (_gain(row["caught"][law], laws[law]), law))
            one = laws[law]
            count, reasons = planned.get(one.invariant.id, (0, []))
            more = len(one.dtypes) * (one.count(examples_of(one)) + 1)
            planned[one.invariant.id] = max(count, more), [*dict.fromkeys((*reasons, row["id"]))]
    return planned


def _laws_of(bug: str) -> dict[str, TriedLaw]:
    operation = bug.partition("/")[0]
    return tried_laws(operation, "deviation:rms_norm/eps-outside-sqrt")


def _gain(dtypes: dict[str, list[int]], one: TriedLaw) -> float:
    """Return by how much one more example in each dtype lowers the chance to miss the bug, for its cost."""
    return sum(-math.log(1 - _chance(*known)) for known in dtypes.values()) / (len(one.dtypes) * one.cost)


def render(planned: dict[str, tuple[int, list[str]]]) -> str:
    """Return the table as it stands in the sources."""
    lines = [_render_line(law, count, reasons) for law, (count, reasons) in sorted(planned.items())]
    return f"{MARK}\nPLANNED: Mapping[str, int] = MappingProxyType({{\n{''.join(lines)}}})  # fmt: skip\n"


def _render_line(law: str, count: int, reasons: list[str]) -> str:
    line = f'    "{law}": {count},  # {_shorten(reasons)}'
    if len(line) > MAX_WIDTH:  # the operation stands in the law's name
        line = f'    "{law}": {count},  # {_shorten(reasons).partition("/")[2]}'
    return f"{line}\n"


def _shorten(reasons: list[str]) -> str:
    operation = reasons[0].partition("/")[0]
    first = reasons[0].replace(f"{WRONG_BACKEND}{operation}__", WRONG_BACKEND)
    return first + (f" and {len(reasons) - 1} more" if len(reasons) > 1 else "")


def read_rows() -> list[Row]:
    known = {*catalogue(), *list_wrong_backends()}
    return [row for row in json.loads(EVIDENCE.read_text(encoding="utf-8")) if row["id"] in known]


def list_wrong_backends() -> list[str]:
    """Return the names of the wrong backends among the bugs: operation/wrong:file."""
    return [f"{path.stem.partition('__')[0]}/{WRONG_BACKEND}{path.stem}" for path in WRONG]


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    lines = ",\n".join(json.dumps(row, sort_keys=True) for row in sorted(rows, key=lambda row: row["id"]))
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _deciding(rows: Iterable[Row]) -> list[str]:
    """Return the bugs that need more than the least number of examples, and had fewer runs than SEEDS."""
    rows = {row["id"]: row for row in rows}
    needed = {bug for _, reasons in plan(rows.values()).values() for bug in reasons}
    return sorted(bug for bug in needed if rows[bug]["seeds"] < SEEDS)


def _add_rows(rows: dict[str, Row], bugs: list[str], seeds: int, workers: int) -> None:
    """Try bugs with so many seeds, and write the rows as soon as each is known."""
    named = {bug: frozenset(rows[bug]["caught"]) if bug in rows else frozenset() for bug in bugs}
    jobs = {f"{bug} {seed}": (bug, seed, named[bug]) for bug in bugs for seed in range(1, seeds + 1)}
    runs = compute_rows("evidence", jobs, try_bug, workers)
    for bug in bugs:
        rows[bug] = join_runs(islice(runs, seeds))
        write_rows(EVIDENCE, rows.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--try", dest="tries", action="store_true", help="try the deviations that evidence.json lacks")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if the table would change")
    options = parser.parse_args()
    rows = {row["id"]: row for row in read_rows()}
    if options.tries:
        lacking = [name for name in (*list_wrong_backends(), *select_deviations()) if name not in rows]
        _add_rows(rows, lacking, 1, options.workers)
        while deciding := _deciding(rows.values()):
            _add_rows(rows, deciding, SEEDS, options.workers)
    source = TABLE.read_text(encoding="utf-8")
    written = source.partition(MARK)[0] + render(planned := plan(rows.values()))
    if not options.check:
        TABLE.write_text(written, encoding="utf-8")
    print(f"{len(rows)} bugs; {len(planned)} laws have more examples than the least")
    return int(options.check and written != source)


if __name__ == "__main__":
    sys.exit(main())
