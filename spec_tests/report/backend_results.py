"""What the page, the summary of a step and the badge show of each backend in a report: its cells, its bugs, its verdict.

page.html uses the attributes of BackendResults by their names.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from . import Report
from .bugs import Bug, group_bugs, list_errors, list_failures
from .cell import Cell
from .conventions import describe_conventions
from .cut import Cut, find_cut
from .run_lines import StatedBackend
from .undeclared_double import describe_undeclared_double
from .verdict import RecordedVerdict, Verdict
from .verdicts import (
    count_levels,
    count_variants,
    describe_beyond,
    describe_domains,
    describe_names,
    describe_not_tried,
    describe_refused_variants,
    describe_shortfalls,
    describe_stale_entries,
    find_shortfall,
    find_shortfalls,
    is_open,
)


@dataclass
class BackendResults:
    """The results of one backend in one run."""

    report: Report
    name: str
    backend: StatedBackend | None = field(repr=False)  # None if the run ended before it was written
    verdicts: list[RecordedVerdict] = field(repr=False)
    letter: str = ""  # "" if the page shows only one backend
    label: str = ""  # the name, and what distinguishes it from others of that name

    @cached_property
    def _cells(self) -> dict[tuple[str, str], Cell]:
        found: dict[tuple[str, str], list[RecordedVerdict]] = {}
        for v in self.verdicts:
            if v.level is None:
                found.setdefault((v.operation, v.dtype), []).append(v)
        shortfalls = find_shortfalls(self.verdicts)
        whole: dict[str, list[RecordedVerdict]] = {}
        for (operation, _), verdicts in found.items():
            whole.setdefault(operation, []).extend(verdicts)
        effort = self.report.header.effort
        return {
            key: Cell(
                verdicts,
                find_shortfall(shortfalls[key]) if key in shortfalls else "",
                is_open(whole[key[0]], key[1], effort),
                is_cut=self.cut is not None,
            )
            for key, verdicts in found.items()
        }

    @cached_property
    def cut(self) -> Cut | None:
        """How the run was cut, None if every law was tried."""
        return find_cut(self.report, self.name)

    @property
    def has_open_cells(self) -> bool:
        """Whether a cell is open, which the legends then explain."""
        return any(cell.is_open for cell in self._cells.values())

    def cell(self, operation: str, dtype: str) -> Cell:
        """Return the cell of an operation in a dtype. It is empty if nothing is known about it."""
        return self._cells.get((operation, dtype), Cell([]))

    def cells(self, operation: str, dtypes: Sequence[str]) -> list[Cell]:
        """Return the cells of an operation that hold a verdict."""
        return [cell for dtype in dtypes if (cell := self.cell(operation, dtype)).verdicts]

    @cached_property
    def operations(self) -> list[str]:
        """The operations of which something was tried."""
        return sorted({operation for (operation, _), cell in self._cells.items() if cell.tried})

    @cached_property
    def compared_operations(self) -> set[str]:
        """The operations of which enough was compared with the oracle. Only of these does the report claim conformance."""
        compared = {operation for (operation, _), cell in self._cells.items() if cell.comparison}
        return compared - set(self.incomplete_operations)

    @cached_property
    def incomplete_operations(self) -> list[str]:
        """The operations that answered too little in some dtype."""
        return sorted({operation for (operation, _), cell in self._cells.items() if cell.shortfall})

    @cached_property
    def deviating_operations(self) -> list[str]:
        """The operations that failed an invariant, or a level that was required."""
        return sorted({v.operation for v in list_failures(self.verdicts)})

    @cached_property
    def has_errors(self) -> bool:
        """Whether a test ended with an error that is none of the backend."""
        return bool(self.report.errors or list_errors(self.verdicts))

    @cached_property
    def bugs(self) -> list[Bug]:
        return group_bugs(self.verdicts)

    @property
    def examples(self) -> int:
        """The number of examples that were tried."""
        return sum(v.examples for v in self.verdicts)

    @property
    def levels(self) -> dict[str, tuple[int, int]]:
        """How often each level held, and how often it was tried."""
        return count_levels(self.verdicts)

    @property
    def remarks(self) -> dict[str, list[str]]:
        """Sentences on the limits of the verdict, by their headings."""
        return {
            "Answered too little to conform": [
                f"{sentence}{f'; {advice}' * bool(advice)}" for sentence, advice in describe_shortfalls(self.verdicts)
            ],
            "Conventions that it does not state": [
                f"{sentence}{f'; add {advice}' * bool(advice)}" for sentence, advice in describe_conventions(self.verdicts)
            ],
            "Computes float64 in float32": [
                f"{sentence}; add {advice}" for sentence, advice in describe_undeclared_double(self.verdicts)
            ],
            "Optional variants that it refuses": describe_refused_variants(self.verdicts),
            "Holds now, and is listed as failing": describe_stale_entries(self.verdicts),
            "Taken under other names": describe_names(self.verdicts),
            "Tried only within this domain": describe_domains(self.verdicts),
            "Not tried": describe_not_tried(self.verdicts),
            "Not covered by this suite": describe_beyond(self.verdicts),
        }

    # --- the verdict ------------------------------------------------------------------------------------------------

    @property
    def tone(self) -> str:
        """The verdict in one word: good, bad, or open if the run supports no claim."""
        if self.deviating_operations or self.has_errors:
            return "bad"
        is_whole = self.supports_claims and not self.incomplete_operations
        return "good" if self.compared_operations and is_whole else "open"

    @property
    def supports_claims(self) -> bool:
        """Whether what holds in this run may be called conformance: a whole run of default or thorough effort."""
        header = self.report.header
        return not (self.cut or header.selection or header.effort == "smoke")

    @property
    def sentence(self) -> str:
        """The verdict in a few words."""
        deviating, header = len(self.deviating_operations), self.report.header
        tried = len({*self.operations, *self.deviating_operations})
        where = f" in {', '.join(header.dtypes)}" if header.dtypes else ""
        until = f"; {self.cut.sentence}" if self.cut else ""
        if deviating:
            return f"{deviating} of {tried} operations deviate{'s' * (deviating == 1)}{where}{until}"
        if self.has_errors:
            return f"the run had errors{until}"
        if self.cut:
            return f"{self.cut.sentence}; until then nothing failed"
        if not tried:
            return "nothing was tried"
        if header.selection:
            return "the selected invariants hold"
        if header.effort == "smoke":
            return "smoke: nothing wrong found"
        if self.incomplete_operations:
            return self._describe_incomplete(tried)
        if not (compared := len(self.compared_operations)):
            return "nothing was compared with the oracle"
        return f"{compared} operation{'s' * (compared != 1)} conform{'s' * (compared == 1)}{where}{self._describe_limits()}"

    def _describe_incomplete(self, tried: int) -> str:
        """Say how many operations answered too little, or how little, if it is one."""
        if len(self.incomplete_operations) > 1:
            return f"{len(self.incomplete_operations)} of {tried} operations answered too little"
        (operation,) = self.incomplete_operations
        own = [v for (name, _), v in find_shortfalls(self.verdicts).items() if name == operation]
        return f"{operation} answered {sum(v.answered for v in own)} of {sum(v.drawn for v in own)} examples"

    def _describe_limits(self) -> str:
        """Return what the claim of conformance is limited to: a stated domain, and the optional variants that were answered."""
        compared = self.compared_operations
        restricted = {v.operation for v in self.verdicts if v.domain and v.examples} & compared
        variants = [pair for operation, pair in count_variants(self.verdicts).items() if operation in compared]
        answered, refused = (sum(len(pair[side]) for pair in variants) for side in (0, 1))
        count = "" if restricted == compared else f", {len(restricted)}"
        domain = f"{count} within a stated domain" if restricted else ""
        return domain + (f", {answered} of {answered + refused} variants" if refused else "")


def build_results(reports: Sequence[Report]) -> list[BackendResults]:
    """Return the results of every backend of every report.

    If there are several, each gets a letter. Backends of the same name get a label that distinguishes them.
    """
    results = []
    for report in reports:
        backend_records = {backend.name: backend for backend in report.backends}
        names = dict.fromkeys([*backend_records, *(v.backend for v in report.verdicts)])
        for name in names or [", ".join(report.header.backends)]:
            own = [v for v in report.verdicts if v.backend == name]
            results.append(BackendResults(report, name, backend_records.get(name), own))
    for result, letter in zip(results, string.ascii_uppercase + string.ascii_lowercase, strict=False):
        namesakes = [other for other in results if other.name == result.name]
        result.letter = letter if len(results) > 1 else ""
        result.label = result.name if len(namesakes) == 1 else f"{result.name}, {_distinguish(result, namesakes)}"
    return results


def _distinguish(result: BackendResults, namesakes: list[BackendResults]) -> str:
    """Return the first property that differs in all results of the same name: folder, path, or version of the backend."""
    for describe in (_name_folder, _name_path, _name_version):
        if len({describe(other) for other in namesakes}) == len(namesakes):
            return describe(result)
    return str(result.report.path)


def _name_folder(result: BackendResults) -> str:
    return result.report.path.parent.name


def _name_path(result: BackendResults) -> str:
    return str(result.report.path.parent)


def _name_version(result: BackendResults) -> str:
    return result.backend.version if result.backend else ""


def find_differences(before: BackendResults, after: BackendResults) -> list[tuple[str, str, dict[str, list[str]]]]:
    """Return (change, operation, laws with their dtypes) for every verdict that differs, new failures first.

    A different share of the allowed error is no difference: other examples use another share.
    """
    old, new = ({(v.id, v.dtype): v for v in result.verdicts} for result in (before, after))
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for key in dict.fromkeys([*old, *new]):
        was, now = (_describe_outcome(side.get(key)) for side in (old, new))
        if was != now and {was, now} != {"not tried", "absent"}:
            operation, _, law = key[0].partition(".")
            found.setdefault((f"{was} → {now}", operation), {}).setdefault(law, []).append(key[1])
    rows = [(change, operation, laws) for (change, operation), laws in found.items()]
    return sorted(rows, key=lambda row: (not row[0].endswith("fails"), row[:2]))


def _describe_outcome(verdict: Verdict | None) -> str:
    if verdict is None or verdict.status == "skipped":
        return "not tried" if verdict else "absent"
    if verdict.status == "passed":
        reached = verdict.precision if verdict.is_comparison else ""
        return f"holds{f' ({reached})' if reached else ''}"
    return "fails" if verdict.status == "failed" else "not held"
