"""What the kill matrix shows, and what correct code was put through, in figures: python -m meta_tests.measure.detection"""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator

from spec_tests.deviations import Deviation, catalogue, find
from spec_tests.specification.registry import gradients

from ..support.in_process import WRONG, backend, invariants
from ..support.paths import MEASURED
from .conformance import DATA as CONFORMANCE
from .conformance_table import broken
from .false_alarms import ALARMS, SHIPPED
from .kill_matrix import Kill, read

MATRIX = MEASURED / "kill_matrix.json"


def figures(kills: list[Kill]) -> Iterator[str]:
    caught = [one for one in kills if one.caught]
    yield f"{sum(one.detected for one in kills)} of {len(kills)} deviations caught at default effort, seed {kills[0].seed}"
    kinds = Counter(catalogue()[one.id].kind for one in kills)
    yield "by kind: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    examples, seconds = ([getattr(one, name) for one in caught] for name in ("examples", "seconds"))
    yield f"before the first failure: median {statistics.median(examples)} examples, largest {max(examples)}; "
    yield f"seconds: median {statistics.median(seconds):.2f}, largest {max(seconds):.1f}"
    yield ""
    yield from _naming(caught)
    yield ""
    by = _by_invariant(kills)
    alone = {one.id: next(iter(one.caught)) for one in caught if len(one.caught) == 1}
    yield f"{len(alone)} deviations are caught by one invariant only:"
    yield from (f"  {name:<60} {invariant}" for name, invariant in sorted(alone.items()))
    yield ""
    redundant = sorted(name for name, ids in by.items() if not set(ids) & set(alone))
    yield f"{len(redundant)} of {len(by)} invariants catch nothing that every other one misses"
    yield f"{len(never_failed(kills))} of {len(_stated())} invariants are never shown to fail"


def _naming(caught: list[Kill]) -> Iterator[str]:
    equations = [one for one in caught if _nameable(catalogue()[one.id])]
    right = [one for one in equations if one.named[one.id] and one.named[one.id] == max(one.named[n] for n in one.named if n)]
    yield f"named: {len(right)} of {len(equations)} that have an equation of their own"
    foreign = {one.id: [name for name in one.named if name and not _means(name, one.id)] for one in caught}
    near = {name: [other for other in others if _another_arithmetic(other, name)] for name, others in foreign.items()}
    yield f"called another arithmetic of the same operation than it is: {sum(map(bool, near.values()))}"
    wrong = {name: set(others) - set(near[name]) for name, others in foreign.items() if set(others) - set(near[name])}
    yield f"called by a wrong name, in some failure: {len(wrong)}"
    yield from (f"  {name:<60} {', '.join(sorted(others))}" for name, others in sorted(wrong.items()))
    failures = sum((one.named for one in equations), Counter[str]())
    own, tied = sum(one.named[one.id] for one in equations), sum(one.tied for one in equations)
    yield f"of {failures.total()} failures of theirs {own} name the bug ({tied} beside another), {failures['']} name none"


def _nameable(one: Deviation) -> bool:
    """A fault is in memory or shapes, and what is narrow throughout knows no bound: neither has an equation."""
    return one.kind != "fault" and not one.asks("equation")


def _means(name: str, wanted: str) -> bool:
    """The deviation itself, inside another operation too, or one that computes the same."""
    called, meant = find(name), catalogue()[wanted]
    assert called is not None
    while called.part:
        called = called.part
    return called.id == wanted or called.name in meant.like


def _another_arithmetic(name: str, wanted: str) -> bool:
    called, meant = find(name), catalogue()[wanted]
    return called is not None and called.kind == meant.kind == "arithmetic" and called.operation == meant.operation


def _by_invariant(kills: list[Kill]) -> dict[str, list[str]]:
    by: dict[str, list[str]] = defaultdict(list)
    for one in kills:
        for name in (*one.caught, *one.levels):
            by[name].append(one.id)
    return by


def never_failed(kills: list[Kill]) -> list[str]:
    """The invariants that neither a deviation nor a wrong implementation breaks."""
    named = {law for one in catalogue().values() for law in one.caught_by}
    shown = {backend(str(path)).source.caught_by for path in WRONG}
    broken = {_general(name) for name in (*_by_invariant(kills), *named, *shown)}
    return sorted(set(_stated()) - broken)


def _stated() -> list[str]:
    """Those of default effort; test_long.py shows that the others can fail."""
    return [test.invariant.id for test in invariants() if test.invariant.effort is None]


def _general(name: str) -> str:
    """softmax.reference is operation.reference of softmax."""
    operation, _, law = name.partition(".")
    return name if name in _stated() else f"{'gradient' if operation in gradients() else 'operation'}.{law}"


def innocent() -> Iterator[str]:
    """How many examples of correct code there were, and how many of them the suite called wrong."""
    runs, shipped = json.loads(ALARMS.read_text()), json.loads(CONFORMANCE.read_text())
    counts = [cell for run in runs.values() for cell in run.values()]
    examples, alarms = (sum(cell[what] for cell in counts) for what in ("examples", "alarms"))
    yield f"{examples} examples of the implementations in meta_tests/backends/correct: {alarms} alarms"
    correct = {name: entry for name, entry in shipped.items() if name.partition(" ")[0] in SHIPPED}
    more, wrong = (sum(each) for each in ([entry["examples"] for entry in correct.values()], map(broken, correct.values())))
    yield f"{more} of {', '.join(correct)}: {wrong} alarms"
    yield f"{examples + more} in all, {alarms + wrong} alarms"


def main() -> None:
    print("\n".join([*figures(read(MATRIX)), "", *innocent()]))


if __name__ == "__main__":
    main()
