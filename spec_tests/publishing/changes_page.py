"""The page of what changed between two reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..report import Report, ReportError
from ..report.backend_results import BackendResults, build_results
from ..report.template import render
from .changes import Changes, find_changes
from .circumstances import Circumstance, find_circumstances

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Comparison:
    """A backend in two reports: what is different, and in what its runs differ."""

    before: BackendResults
    after: BackendResults
    circumstances: list[Circumstance]
    changes: Changes

    @property
    def sentence(self) -> str:
        """The changes in a few words."""
        counts = [f"{len(changes)} {kind.title}" for kind, changes in self.changes.kinds]
        return "; ".join(counts) or "no verdict changed"


def compare(before: Report, after: Report) -> list[Comparison]:
    """Compare two reports. Backends have partners of their name; if each report has one backend, these are partners.

    Raise ReportError if no backend has a partner.
    """
    old, new = build_results([before]), build_results([after])
    names = {result.name: result for result in old}
    if len(old) == len(new) == 1:
        pairs = [(old[0], new[0])]
    else:
        pairs = [(names[result.name], result) for result in new if result.name in names]
    if not pairs:
        left, right = (", ".join(result.name for result in results) for results in (old, new))
        raise ReportError(f"{before.path} is of {left} and {after.path} of {right}: name two reports of one library")
    return [Comparison(a, b, find_circumstances(a, b), find_changes(a, b)) for a, b in pairs]


def render_changes(before: Report, after: Report) -> str:
    """Return the page. Of backends that only one report has it says which."""
    comparisons = compare(before, after)
    names = {comparison.before.name for comparison in comparisons}, {comparison.after.name for comparison in comparisons}
    left_out = [
        [result.name for result in build_results([report]) if result.name not in own]
        for report, own in zip((before, after), names, strict=True)
    ]
    return render("changes.html", FOLDER, "table.css", comparisons=comparisons, only_before=left_out[0], only_after=left_out[1])
