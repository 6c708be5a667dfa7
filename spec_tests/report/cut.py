"""A run that ended before every selected law was tried, or declined by the suite. It supports no claim of conformance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from .form import Count

if TYPE_CHECKING:
    from . import Report

MISSING_ITEMS = "items are missing"  # the reason in the footer of a merged report


@dataclass(frozen=True)
class Cut:
    """How the run of one backend was cut."""

    by: Annotated[str, "what cut it, such as SIGTERM; empty if that is not known"]
    at: Annotated[str, "the law that was running, empty if none was"]
    judged: Annotated[Count, "laws with a verdict, each in one dtype"]
    selected: Annotated[Count | None, "laws that should have one; null if that is not known"]
    untried: Annotated[tuple[str, ...], "the operations of the laws that have none, as far as is known"] = ()

    @property
    def sentence(self) -> str:
        """The sentence that every place says in which a verdict is read."""
        by, at = f" by {self.by}" * bool(self.by), f" in {self.at}" * bool(self.at)
        of = "" if self.selected is None else f" of {self.selected}"
        return f"cut{by}{at} after {self.judged}{of} law{'s' * ((self.selected or self.judged) != 1)}"


def find_cut(report: Report, backend: str) -> Cut | None:
    """Return how the run of a backend was cut, None if each of its laws has a verdict. An older report has fewer details."""
    if report.complete:
        return None
    if report.footer and report.footer.cuts:
        return report.footer.cuts.get(backend)
    judged = sum(verdict.backend == backend for verdict in report.verdicts)
    if report.footer is None:
        return Cut("an end without a footer", "", judged, None)
    if report.footer.reason == MISSING_ITEMS:
        return Cut("missing items of the campaign", "", judged, None)
    return Cut("", "", judged, report.footer.selected if len(report.backends) == 1 else None)
