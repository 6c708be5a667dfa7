"""Print figures from the kill matrix and from the runs on correct code: python -m meta_tests.measure.detection"""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator

from spec_tests.deviations import Deviation, catalogue, find
from spec_tests.specification.registry import gradients

from ..support.in_process import WRONG, backend, invariants
from ..support.paths import MEASURED
from .conformance import CONFORMANCE_JSON as CONFORMANCE
from .conformance_table import count_broken
from .false_alarms import FALSE_ALARMS_JSON, SHIPPED_BACKENDS
from .kill_matrix import Kill, read_matrix

MATRIX = MEASURED / "kill_matrix.json"


def summarize_kills(kills: list[Kill]) -> Iterator[str]:
    caught = [kill for kill in kills if kill.caught]
    yield f"{sum(kill.detected for kill in kills)} of {len(kills)} deviations caught at default effort, seed {kills[0].seed}"
    kinds = Counter(catalogue()[kill.id].kind for kill in kills)
    yield "by kind: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    examples, seconds = ([getattr(kill, name) for kill in caught] for name in ("examples", "seconds"))
    yield f"before the first failure: median {statistics.median(examples):.0f} examples, largest {max(examples)}; "
    yield f"seconds: median {statistics.median(seconds):.2f}, largest {max(seconds):.1f}"
    yield ""
    yield from _summarize_diagnoses(caught)
    yield ""
    by_invariant = _group_by_invariant(kills)
    single = {kill.id: next(iter(kill.caught)) for kill in caught if len(kill.caught) == 1}
    yield f"{len(single)} deviations are caught by one invariant only:"
    yield from (f"  {name:<60} {invariant}" for name, invariant in sorted(single.items()))
    yield ""
    redundant = sorted(name for name, ids in by_invariant.items() if not set(ids) & set(single))
    yield f"{len(redundant)} of {len(by_invariant)} invariants catch nothing that every other one misses"
    yield f"{len(find_never_failing(kills))} of {len(_list_default_invariants())} invariants are never shown to fail"


def _summarize_diagnoses(caught: list[Kill]) -> Iterator[str]:
    equations = [kill for kill in caught if _has_equation(catalogue()[kill.id])]
    right = [
        kill for kill in equations if kill.named[kill.id] and kill.named[kill.id] == max(kill.named[n] for n in kill.named if n)
    ]
    yield f"named: {len(right)} of {len(equations)} that have an equation of their own"
    foreign = {kill.id: [name for name in kill.named if name and not _is_same_bug(name, kill.id)] for kill in caught}
    near = {name: [other for other in others if _is_other_arithmetic(other, name)] for name, others in foreign.items()}
    yield f"called another arithmetic of the same operation than it is: {sum(map(bool, near.values()))}"
    wrong = {name: set(others) - set(near[name]) for name, others in foreign.items() if set(others) - set(near[name])}
    yield f"called by a wrong name, in some failure: {len(wrong)}"
    yield from (f"  {name:<60} {', '.join(sorted(others))}" for name, others in sorted(wrong.items()))
    failures = sum((kill.named for kill in equations), Counter[str]())
    own, tied = sum(kill.named[kill.id] for kill in equations), sum(kill.tied for kill in equations)
    yield f"of {failures.total()} failures of theirs {own} name the bug ({tied} beside another), {failures['']} name none"


def _has_equation(deviation: Deviation) -> bool:
    """Whether the deviation has its own equation, which the diagnosis can compare with.

    A fault has none, since it is in memory or shapes. A deviation that evaluates the reference in low precision has none either.
    """
    return deviation.kind != "fault" and not deviation.asks("equation")


def _is_same_bug(name: str, expected_id: str) -> bool:
    """Whether `name` is the expected deviation, perhaps inside another operation, or one that computes the same."""
    named, expected = find(name), catalogue()[expected_id]
    assert named is not None
    while named.part:
        named = named.part
    return named.id == expected_id or named.name in expected.like


def _is_other_arithmetic(name: str, expected_id: str) -> bool:
    """Whether both are deviations of kind "arithmetic" of the same operation."""
    named, expected = find(name), catalogue()[expected_id]
    return named is not None and named.kind == expected.kind == "arithmetic" and named.operation == expected.operation


def _group_by_invariant(kills: list[Kill]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = defaultdict(list)
    for kill in kills:
        for name in (*kill.caught, *kill.levels):
            ids[name].append(kill.id)
    return ids


def find_never_failing(kills: list[Kill]) -> list[str]:
    """Return the invariants that neither a deviation nor a wrong backend breaks."""
    named = {law for deviation in catalogue().values() for law in deviation.caught_by}
    by_wrong_backends = {backend(str(path)).source.caught_by for path in WRONG}
    broken = {_generalize(name) for name in (*_group_by_invariant(kills), *named, *by_wrong_backends)}
    return sorted(set(_list_default_invariants()) - broken)


def _list_default_invariants() -> list[str]:
    """Return the invariants of default effort that are tried on one rank.

    meta_tests/inputs/test_large_sizes.py shows that the others can fail, and meta_tests/sharding that those about ranks can.
    """
    return [test.invariant.id for test in invariants() if test.invariant.effort is None and "ranks" not in test.invariant.needs]


def _generalize(name: str) -> str:
    """Return the id of the invariant itself: operation.reference for softmax.reference."""
    operation, _, law = name.partition(".")
    return name if name in _list_default_invariants() else f"{'gradient' if operation in gradients() else 'operation'}.{law}"


def summarize_false_alarms() -> Iterator[str]:
    """Yield how many examples of correct code were tried, and in how many of them the suite raised an alarm."""
    runs, shipped = json.loads(FALSE_ALARMS_JSON.read_text()), json.loads(CONFORMANCE.read_text())
    counts = [cell for run in runs.values() for cell in run.values()]
    examples, alarms = (sum(cell[field] for cell in counts) for field in ("examples", "alarms"))
    yield f"{examples} examples of the implementations in meta_tests/backends/correct: {alarms} alarms"
    correct = {name: entry for name, entry in shipped.items() if name.partition(" ")[0] in SHIPPED_BACKENDS}
    shipped_examples = sum(entry["examples"] for entry in correct.values())
    shipped_alarms = sum(map(count_broken, correct.values()))
    yield f"{shipped_examples} of {', '.join(correct)}: {shipped_alarms} alarms"
    yield f"{examples + shipped_examples} in all, {alarms + shipped_alarms} alarms"


def main() -> None:
    print("\n".join([*summarize_kills(read_matrix(MATRIX)), "", *summarize_false_alarms()]))


if __name__ == "__main__":
    main()
