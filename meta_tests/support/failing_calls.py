"""Failing calls as data: for each law that a deviation names, one example with which the deviation fails and the oracle passes.

They are in deviations/failing_calls, in one file for each operation. `python -m meta_tests.measure.failing_calls` writes them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from spec_tests.calls.violation import Violation
from spec_tests.deviations import OracleBackend, find
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.inputs.choices import NoExample, ReplayedChoices, format_choices, parse_choices
from spec_tests.running.selection import operation_names
from spec_tests.specification.registry import gradients, operations
from spec_tests.trials.collection import invariants
from spec_tests.trials.trial import Trial

from .drawn_values import RecordedChoices, StoredValues, outline
from .paths import ROOT

SAME, OTHER_VALUES, OTHER_EXAMPLE = "the same", "other values", "another example"  # what the choices of an example make now
FOLDER = ROOT / "meta_tests" / "deviations" / "failing_calls"


@dataclass(frozen=True)
class Earlier:
    """An example that is tried before the failing one, on the same backend: some faults show from the second call on."""

    law: str
    dtype: str
    choices: tuple[int, ...]
    digest: str  # of what the choices give to the law


@dataclass(frozen=True)
class FailingCall:
    """An example that fails with a deviation and passes with the oracle."""

    deviation: str
    law: str
    dtype: str
    excess: str  # how many times the bound the error is, as the message says; "" if it says no such number
    earlier: tuple[Earlier, ...]
    choices: tuple[int, ...]  # that make the example, while the suite draws its examples as it did
    drawn: list[Any]  # what the example gives to the law

    @property
    def key(self) -> tuple[str, str]:
        return self.deviation, self.law

    @property
    def is_whole(self) -> bool:
        """Whether all that is drawn is stored. Of large arrays the digest is, so that they are drawn again by the choices."""
        return not has_digest(self.drawn)

    def fails(self) -> Violation | None:
        """Return the violation of the deviation, None if there is none. Raise NoExample if this is no example of the law now."""
        under_test = load_deviation(self.deviation)
        for one in self.earlier:
            choices = RecordedChoices(ReplayedChoices(one.choices))
            try_example(one.law, one.dtype, under_test, choices)
            if digest(choices.kept) != one.digest:
                raise NoExample("an earlier example is another one")
        return try_example(self.law, self.dtype, under_test, self._source())

    def passes(self) -> bool:
        """Whether the oracle passes the example, or need not."""
        try:
            try_on_oracle(self.law, self.dtype, self._source())
        except (NoExample, Violation):
            return False
        return True

    def _source(self) -> StoredValues | ReplayedChoices:
        return StoredValues(self.drawn) if self.is_whole else ReplayedChoices(self.choices)

    def exceeds_by_less(self, violation: Violation) -> bool:
        """Whether the error exceeds the bound by less than when the call was stored.

        In float64 nothing is said of it: there an error may be made of roundings that differ from machine to machine.
        """
        if not self.excess or self.dtype == "float64":
            return False
        now = read_excess(violation)
        return not now or float(now) < float(self.excess)

    def draw_again(self) -> str:
        """Draw the example by its choices: SAME, or what differs. Raise Violation if the oracle fails on it."""
        choices = RecordedChoices(ReplayedChoices(self.choices))
        try:
            try_on_oracle(self.law, self.dtype, choices)
        except NoExample:
            return OTHER_EXAMPLE
        kept, drawn = ([to_json(outline(x, kinds=kinds)) for kinds in (True, False)] for x in (choices.kept, self.drawn))
        return SAME if kept == drawn else OTHER_VALUES if kept[1] == drawn[1] else OTHER_EXAMPLE


def try_example(law: str, dtype: str, under_test: Backend, source: Any) -> Violation | None:
    """Run a law on one example, as a run does, and return the violation. Raise NoExample if the backend was not asked."""
    test, operation = find_law(law)
    trial = Trial(under_test, dtype, operation_name=operation)
    try:
        test.replay(trial, source)
    except Violation as violation:
        return violation
    if not trial.tally.examples:
        raise NoExample(trial.tally.not_tried_reason)
    return None


def load_deviation(name: str) -> Backend:
    """Return a new backend with the deviation in it: some deviations remember their calls."""
    return Backend(f"deviation:{name}", OracleBackend(find(name)), Framework("numpy"))


def try_on_oracle(law: str, dtype: str, source: Any) -> None:
    """Run a law on one example with the oracle. Raise Violation if it fails. It may lose levels, so that their laws may fail."""
    violation = try_example(law, dtype, load_oracle(), source)
    if violation is not None and not find_law(law)[0].invariant.level:
        raise violation


@cache
def load_oracle() -> Backend:
    """Return the oracle as a backend, the same one for all calls: its conventions are inferred once."""
    return Backend("oracle", OracleBackend(), Framework("numpy"))


@cache
def _laws() -> dict[str, tuple[Any, str]]:
    return {
        test.invariant.id_for(name): (test, name)
        for test in invariants()
        for name in operation_names(test.invariant)
        if not name or test.invariant.applies_to(name)
    }


def find_law(law: str) -> tuple[Any, str]:
    """Return the test of a law by its id, and the operation that it is tried on if it is a general one."""
    if law not in _laws():
        raise NoExample(f"there is no law {law}")
    return _laws()[law]


def read_excess(violation: Violation) -> str:
    """Return how many times the bound the error is, as the message says, "" if it says no such number."""
    text = " ".join(fact for _, fact in violation.facts)
    found = re.search(r"= (\S+) x the bound", text)
    return found[1] if found else "1" if "just above the bound" in text else ""


def to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def has_digest(drawn: list[Any]) -> bool:
    """Whether an array is so large that its digest stands in place of its elements."""
    return '"digest"' in to_json(drawn)


def digest(drawn: list[Any]) -> str:
    """Return a digest of what an example gives to its law, the same one on every machine unless arrays are large."""
    return hashlib.sha256(to_json(outline(drawn, kinds=True)).encode()).hexdigest()[:16]


# --- the files --------------------------------------------------------------------------------------------------------


def to_line(call: FailingCall) -> str:
    """Return a failing call as a line of its file."""
    earlier = [[one.law, one.dtype, format_choices(one.choices), one.digest] for one in call.earlier]
    content = {"deviation": call.deviation, "law": call.law, "dtype": call.dtype, "excess": call.excess}
    return to_json({**content, "earlier": earlier, "choices": format_choices(call.choices), "drawn": call.drawn})


def from_line(line: str) -> FailingCall:
    content = json.loads(line)
    earlier = tuple(Earlier(law, dtype, _parse(text), made) for law, dtype, text, made in content["earlier"])
    return FailingCall(**{**content, "earlier": earlier, "choices": _parse(content["choices"])})


def _parse(text: str) -> tuple[int, ...]:
    return parse_choices(text) if text else ()  # some laws draw nothing


def read_file(path: Path) -> dict[tuple[str, str], FailingCall]:
    """Return the failing calls of a file by deviation and law, {} if there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {call.key: call for call in map(from_line, lines)}


def write_file(path: Path, calls: Iterable[FailingCall]) -> None:
    """Write the file at once, so that the command may be stopped at any time."""
    path.parent.mkdir(exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text("".join(f"{to_line(call)}\n" for call in calls), encoding="utf-8")
    partial.replace(path)


def path_of(operation: str) -> Path:
    return FOLDER / f"{operation}.jsonl"


def all_stored_calls() -> Iterator[FailingCall]:
    for operation in (*operations(), *gradients()):
        yield from stored_calls(operation).values()


@cache
def stored_calls(operation: str) -> dict[tuple[str, str], FailingCall]:
    """Return the stored failing calls of an operation's deviations, by deviation and law."""
    return read_file(path_of(operation))
