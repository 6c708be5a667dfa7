"""Write the failing calls of the deviations, which the daily tests try again: meta_tests/deviations/failing_calls.

python -m meta_tests.measure.failing_calls [DEVIATION or OPERATION …] [--workers 2] [--check]

A stored call stays if its deviation still fails on it, the oracle passes, and its choices still make it; otherwise another one is
searched for. Each call is written as soon as it is found, so that the command can be stopped and started again. To search for all
of them anew, delete the folder first. --check writes nothing, and lists what the command would change.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

from spec_tests.calls.violation import Violation
from spec_tests.deviations import Deviation, catalogue, deviations_of
from spec_tests.inputs.choices import NoExample
from spec_tests.specification.registry import gradients, operations
from spec_tests.trials.trial import Trial

from ..support.drawn_values import RecordedChoices
from ..support.failing_calls import (
    SAME,
    Earlier,
    FailingCall,
    digest,
    find_law,
    has_digest,
    load_deviation,
    load_oracle,
    path_of,
    read_excess,
    read_file,
    to_json,
    try_on_oracle,
    write_file,
)
from ..support.in_process import attempt, trials_of

SEEDS = (1, 2, 3)  # of the examples that are drawn
ENOUGH = 6  # failures, of which one is taken


class Continued:
    """A source of choices that replays numbers and goes on at random: the choices of a failing example end where it fails."""

    def __init__(self, numbers: Sequence[int]):
        self._numbers, self._random = iter(numbers), random.Random(0)

    def draw_integer(self, low: int, high: int) -> int:
        number = next(self._numbers, None)
        return self._random.randint(low, high) if number is None else low + number

    def mark_overrun(self) -> None:
        """Do nothing, since there is no shrinking."""


class Watched:
    """The test of a law that keeps its examples in `tried`."""

    def __init__(self, test: Any, law: str, tried: list[Earlier]):
        self.invariant, self._test, self._law, self._tried = test.invariant, test, law, tried
        self.has_large_arrays = False  # in the last example

    def replay(self, trial: Trial, choices: Any) -> None:
        recorded = RecordedChoices(choices)
        try:
            self._test.replay(trial, recorded)
        finally:
            self.has_large_arrays = has_digest(recorded.kept)
            self._tried.append(Earlier(self._law, trial.dtype, tuple(recorded.numbers), digest(recorded.kept)))


def search(deviation: Deviation, law: str) -> FailingCall | None:
    """Return an example with which the deviation breaks the law and the oracle does not, None if none is found.

    One without examples before it is preferred, and one without large arrays.
    """
    for alone in (True, False):
        found, large = list[FailingCall](), list[list[Earlier]]()
        for tried, is_large in islice(list_failures(deviation, law, alone=alone), ENOUGH):
            if is_large:
                large.append(tried)
            elif (call := complete(deviation, law, tried)) is not None:
                if not call.earlier:
                    return call
                found.append(call)
        found += [call for tried in large if not found and (call := complete(deviation, law, tried)) is not None]
        if found:
            return min(found, key=lambda call: len(call.earlier))
    return None


def list_failures(deviation: Deviation, law: str, *, alone: bool) -> Iterator[tuple[list[Earlier], bool]]:
    """Yield the examples of each trial in which the deviation breaks the law, the failing one last, and whether that is large.

    alone: each trial has a backend of its own. Otherwise all laws that the deviation names are tried on one backend, in the order
    of a run, and the examples of all of them are yielded.
    """
    laws = (law,) if alone else deviation.caught_by
    trials = trials_by_law(deviation.operation)
    trials = [(name, trial) for name, trial in trials if name in laws and deviation.shows_in(trial.dtype)]
    if alone:  # begin with another dtype for each law, so that all are stored
        start = zlib.crc32(f"{deviation.id} {law}".encode()) % max(len(trials), 1)
        trials = trials[start:] + trials[:start]
    for seed in SEEDS:
        under_test, tried = load_deviation(deviation.id), list[Earlier]()
        for name, trial in trials:
            if alone:
                under_test, tried = load_deviation(deviation.id), []
            test, _ = find_law(name)
            watched = Watched(test, name, tried)
            own = Trial(under_test, trial.dtype, operation_name=trial.operation_name, max_examples=trial.max_examples)
            if attempt(watched, own, seed) and name == law:
                yield list(tried), watched.has_large_arrays


@cache
def trials_by_law(operation: str) -> list[tuple[str, Trial]]:
    """Return the trials that a run makes of a backend like the oracle, each with the id of its law."""
    return [(test.invariant.id_for(trial.operation_name), trial) for test, trial in trials_of(operation, load_oracle())]


def complete(deviation: Deviation, law: str, tried: list[Earlier]) -> FailingCall | None:
    """Return the last of the examples as a failing call, with as few of those before it as its failure needs."""
    *before, last = tried
    choices = RecordedChoices(Continued(last.choices))
    try:
        try_on_oracle(law, last.dtype, choices)
    except (NoExample, Violation):
        return None
    call = FailingCall(deviation.id, law, last.dtype, "", (), tuple(choices.numbers), json.loads(to_json(choices.kept)))
    for count in dict.fromkeys((0, *(1 << i for i in range(len(before).bit_length())), len(before))):
        longer = replace(call, earlier=tuple(before[len(before) - count :]) if count else ())
        with suppress(NoExample):
            if (violation := longer.fails()) is not None:
                return replace(longer, excess=read_excess(violation))
    return None


def refresh(call: FailingCall) -> FailingCall | None:
    """Return a stored call with its present excess, None if its choices no longer make it or it no longer fails.

    In float64 the excess stays: there an error may be made of roundings that differ from machine to machine.
    """
    try:
        violation = call.fails() if call.draw_again() == SAME else None
    except (Violation, NoExample):
        return None
    if violation is None:
        return None
    return call if call.excess and call.dtype == "float64" else replace(call, excess=read_excess(violation))


def update(job: tuple[str, dict[str, FailingCall]]) -> dict[str, FailingCall | None]:
    """Return the failing call of each law that a deviation names, given those that are stored."""
    name, stored = job
    deviation = catalogue()[name]
    kept = {law: refresh(stored[law]) if law in stored else None for law in deviation.caught_by}
    return {law: call or search(deviation, law) for law, call in kept.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="ids of deviations, or operations; all, if none is given")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="write nothing, and list what would be written")
    options = parser.parse_args()
    every = (*operations(), *gradients())
    if unknown := [name for name in options.names if name not in (*every, *catalogue())]:
        parser.error(f"there is no deviation or operation {unknown[0]!r}; `spec-tests list deviations` prints the ids")
    chosen = [one for one in catalogue().values() if not options.names or {one.id, one.operation} & {*options.names}]
    files = {operation: read_file(path_of(operation)) for operation in every}
    jobs = [(one.id, {law: call for (name, law), call in files[one.operation].items() if name == one.id}) for one in chosen]
    missing = changed = 0
    before = {one.operation: dict(files[one.operation]) for one in chosen}
    with ProcessPoolExecutor(options.workers) as pool:
        for (name, stored), found in zip(jobs, pool.map(update, jobs), strict=True):
            for law, call in found.items():
                if call is None:
                    missing += 1
                    print(f"{name}: no example breaks {law}", flush=True)
                elif call != stored.get(law):
                    changed += 1
                    print(f"{name}: {law}: {describe_change(stored.get(law), call)}", flush=True)
            operation = catalogue()[name].operation
            files[operation] = sort_calls(operation, {**files[operation], **{(name, law): call for law, call in found.items()}})
            if not options.check:
                write_file(path_of(operation), files[operation].values())
    named = {(one.id, law) for one in catalogue().values() for law in one.caught_by}
    unnamed = [key for calls in before.values() for key in calls if key not in named]
    for name, law in unnamed:
        print(f"{name}: {law}: it is stored, and no deviation names it", flush=True)
    misplaced = [one for one, calls in before.items() if not unnamed and list(calls) != list(sort_calls(one, calls))]
    for operation in misplaced:
        print(f"{path_of(operation).name}: its calls are not in the order of the catalogue", flush=True)
    verb = "would change" if options.check else "changed"
    total = sum(len(one.caught_by) for one in chosen)
    print(f"{changed} of {total} calls {verb}, {missing} missing, {len(unnamed)} that no deviation names")
    return 1 if missing or (options.check and (changed or unnamed or misplaced)) else 0


def describe_change(before: FailingCall | None, after: FailingCall) -> str:
    """Return what is another than in the file."""
    if before is None:
        return f"a call in {after.dtype} is stored first now"
    if replace(before, excess=after.excess) == after:
        return f"the error is {after.excess or 'no number'} times the bound, and was {before.excess or 'no number'}"
    return f"another call, in {after.dtype}"


def sort_calls(operation: str, calls: Mapping[tuple[str, str], FailingCall | None]) -> dict[tuple[str, str], FailingCall]:
    """Return the calls in the order of the catalogue, without those that no deviation names."""
    keys = [(one.id, law) for one in deviations_of(operation) for law in one.caught_by]
    return {key: call for key in keys if (call := calls.get(key)) is not None}


if __name__ == "__main__":
    sys.exit(main())
