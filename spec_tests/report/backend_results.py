"""What a page, a summary and a badge say, worked out of reports: for each backend its cells, its bugs, and its verdict."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from . import Report
from .failure import MATCHES_PREFIX
from .verdicts import Bug, count_levels, domain_lines, group_bugs, not_tried_lines

Verdict = dict[str, Any]


@dataclass
class Cell:
    """One operation in one dtype; levels are told apart."""

    verdicts: list[Verdict]

    @cached_property
    def tried(self) -> list[Verdict]:
        return [v for v in self.verdicts if v["status"] in ("passed", "failed")]

    @cached_property
    def broken(self) -> list[Verdict]:
        return [v for v in self.tried if v["status"] == "failed"]

    @cached_property
    def compared(self) -> Verdict:
        """The comparison with the oracle."""
        return next((v for v in self.tried if v["id"].endswith(".reference") and v["worst"] is not None), {})

    @property
    def state(self) -> str:
        if self.broken:
            return "deviates"
        return "conforms" if self.compared else "held" if self.tried else "absent" if self.verdicts else ""

    @property
    def reached(self) -> str:
        return str(self.compared.get("class") or "")

    @property
    def worst(self) -> float | None:
        return _number(self.compared.get("worst"))

    @property
    def median(self) -> float | None:
        return _number(self.compared.get("median"))


@dataclass
class BackendResults:
    """One backend in one run."""

    report: Report
    name: str
    backend: dict[str, Any] = field(repr=False)
    verdicts: list[Verdict] = field(repr=False)
    letter: str = ""
    label: str = ""

    @cached_property
    def _cells(self) -> dict[tuple[str, str], Cell]:
        found: dict[tuple[str, str], list[Verdict]] = {}
        for v in self.verdicts:
            if v["level"] is None:
                found.setdefault((v["operation"], v["dtype"]), []).append(v)
        return {key: Cell(verdicts) for key, verdicts in found.items()}

    def cell(self, operation: str, dtype: str) -> Cell:
        return self._cells.get((operation, dtype), Cell([]))

    def cells(self, operation: str, dtypes: Sequence[str]) -> list[Cell]:
        """Those in which there is a verdict."""
        return [cell for dtype in dtypes if (cell := self.cell(operation, dtype)).verdicts]

    @cached_property
    def operations(self) -> list[str]:
        """Of which something was tried."""
        return sorted({operation for (operation, _), cell in self._cells.items() if cell.tried})

    @cached_property
    def compared(self) -> set[str]:
        """Operations that were compared with the oracle: of others no conformance is claimed."""
        return {operation for (operation, _), cell in self._cells.items() if cell.compared}

    @cached_property
    def deviating(self) -> list[str]:
        """By an invariant, or by a level that was required."""
        return sorted({v["operation"] for v in self.verdicts if v["status"] == "failed"})

    @cached_property
    def bugs(self) -> list[Bug]:
        return group_bugs(self.verdicts)

    @property
    def examples(self) -> int:
        return sum(v["examples"] for v in self.verdicts)

    @property
    def levels(self) -> dict[str, tuple[int, int]]:
        return count_levels(self.verdicts)

    @property
    def remarks(self) -> dict[str, list[str]]:
        return {
            "Tried within the domain that it states": domain_lines(self.verdicts),
            "Not tried": not_tried_lines(self.verdicts),
        }

    # --- the verdict ------------------------------------------------------------------------------------------------

    @property
    def tone(self) -> str:
        if self.deviating or self.report.errors:
            return "bad"
        header = self.report.header
        less = not self.report.complete or header["selection"] or header["effort"] == "smoke"
        return "good" if self.compared and not less else "open"

    @property
    def sentence(self) -> str:
        """The verdict of the run in a few words."""
        tried, header = len({*self.operations, *self.deviating}), self.report.header
        where = f" in {', '.join(header['dtypes'])}" if header["dtypes"] else ""
        if self.deviating:
            return f"{len(self.deviating)} of {tried} operations deviate{'s' * (len(self.deviating) == 1)}{where}"
        if self.report.errors:
            return "the run had errors"
        if not self.report.complete:
            return "incomplete: nothing wrong so far"
        if not tried:
            return "nothing was tried"
        if header["selection"]:
            return "the selected invariants hold"
        if header["effort"] == "smoke":
            return "smoke: nothing wrong found"
        if not (conform := len(self.compared)):
            return "nothing was compared with the oracle"
        return f"{conform} operation{'s' * (conform != 1)} conform{'s' * (conform == 1)}{where}"


def build_results(reports: Sequence[Report]) -> list[BackendResults]:
    """Every backend of every report; several have letters, and those of one name what else tells them apart."""
    found = []
    for report in reports:
        described = {backend["name"]: backend for backend in report.backends}
        named = dict.fromkeys([*described, *(v["backend"] for v in report.verdicts)])
        for name in named or [", ".join(report.header["backends"])]:
            own = [v for v in report.verdicts if v["backend"] == name]
            found.append(BackendResults(report, name, described.get(name, {}), own))
    for subject, letter in zip(found, string.ascii_uppercase + string.ascii_lowercase, strict=False):
        same = [other for other in found if other.name == subject.name]
        subject.letter = letter if len(found) > 1 else ""
        subject.label = subject.name if len(same) == 1 else f"{subject.name}, {_distinguishing(subject, same)}"
    return found


def _distinguishing(subject: BackendResults, same: list[BackendResults]) -> str:
    """What it has that the others of its name have not."""
    kinds = (lambda s: s.report.path.parent.name, lambda s: str(s.report.path.parent), lambda s: s.backend.get("version", ""))
    return str(next((kind(subject) for kind in kinds if len(set(map(kind, same))) == len(same)), subject.report.path))


def differences(before: BackendResults, after: BackendResults) -> list[tuple[str, str, dict[str, list[str]]]]:
    """(what became of it, operation, laws with their dtypes) of all that the two runs judge differently, what is worse first. How
    much of the allowed error was used is no verdict: other examples use another part."""
    old, new = ({(v["id"], v["dtype"]): v for v in subject.verdicts} for subject in (before, after))
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for key in dict.fromkeys([*old, *new]):
        was, now = (_outcome(side.get(key)) for side in (old, new))
        if was != now and {was, now} != {"not tried", "absent"}:
            operation, _, law = key[0].partition(".")
            found.setdefault((f"{was} → {now}", operation), {}).setdefault(law, []).append(key[1])
    rows = [(change, operation, laws) for (change, operation), laws in found.items()]
    return sorted(rows, key=lambda row: (not row[0].endswith("fails"), row[:2]))


def _outcome(verdict: Verdict | None) -> str:
    if verdict is None or verdict["status"] == "skipped":
        return "not tried" if verdict else "absent"
    if verdict["status"] == "passed":
        reached = verdict["class"] if verdict["id"].endswith(".reference") else ""
        return f"holds{f' ({reached})' if reached else ''}"
    return "fails" if verdict["status"] == "failed" else "not held"


def is_named(verdict: Verdict) -> bool:
    """Something known explains the failure."""
    return str(verdict["reason"]).startswith(MATCHES_PREFIX)


def clearest_failure(bug: Bug) -> Verdict:
    """The failure that is explained best, on the inputs that a person reads fastest."""

    def order(verdict: Verdict) -> tuple[bool, bool, int]:
        inputs = (verdict.get("failure") or {}).get("inputs", "")
        return not is_named(verdict), not inputs, len(inputs)

    return min(bug.verdicts, key=order)


def _number(x: Any) -> float | None:
    """JSON has no infinity: the word stands for it."""
    return None if x is None else float(x)
