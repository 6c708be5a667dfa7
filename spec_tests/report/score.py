"""A score for one operation of a backend, as a reward for programs that write kernels. `spec-tests score` prints it.

    no law fails:   value = coverage * (1 + precision) / 2
    a law fails:    value = coverage * laws / (2 * (1 + causes))

A backend that fails a law scores at most 1/4. A backend that answers everything and fails no law scores at least 2/3.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from typing import Any

from ..specification.formats import PRECISIONS
from . import Report
from .bugs import group_bugs, list_errors


@dataclass(frozen=True)
class Score:
    """The score of one operation, and its parts. The value and the first three parts are between 0 and 1."""

    value: float
    laws: float  # the share of the tests that were tried and passed
    coverage: float  # the answered share of the examples that the comparison with the oracle drew
    precision: float  # the share of the precision classes whose bound the answers meet, as a mean over the dtypes
    causes: list[str] = field(default_factory=list)  # what is wrong, in the order in which to mend it
    reason: str = ""  # why the value is 0 whatever the parts are, "" if the parts decide
    operation: str = ""
    domain: str = ""  # what was tried; "" is everything
    effort: str = ""
    seed: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the score as plain data."""
        return asdict(self)


def compute_score(report: Report, operation: str, dtypes: Collection[str], seed: int) -> Score:
    """Return the score of the operation in these dtypes, or in those of the report if none are given."""
    verdicts = [v for v in report.verdicts if v["operation"] == operation and v["level"] is None]
    tried = [v for v in verdicts if v["status"] in ("passed", "failed") and v["examples"]]
    failed = [v for v in tried if v["status"] == "failed"]
    causes = [bug.what for bug in group_bugs(failed)]
    laws = (len(tried) - len(failed)) / len(tried) if tried else 0.0
    comparisons = {v["dtype"]: v for v in verdicts if v["id"] == f"{operation}.reference"}
    asked = list(dtypes) or list(comparisons)
    coverage = sum(_answered_share(comparisons.get(dtype)) for dtype in asked) / max(len(asked), 1)
    precision = sum(_met_share(comparisons.get(dtype)) for dtype in asked) / max(len(asked), 1)
    reason = _find_reason(report, tried)
    value = coverage * (laws / (2 * (1 + max(len(causes), 1))) if failed else (1 + precision) / 2)
    return Score(
        value=0.0 if reason else value,
        laws=laws,
        coverage=coverage,
        precision=precision,
        causes=causes,
        reason=reason,
        operation=operation,
        domain=next((v["domain"] for v in verdicts if v["domain"]), ""),
        effort=str(report.header["effort"]),
        seed=seed,
    )


def _answered_share(comparison: dict[str, Any] | None) -> float:
    return comparison["answered"] / comparison["drawn"] if comparison and comparison["drawn"] else 0.0


def _met_share(comparison: dict[str, Any] | None) -> float:
    """Return the share of the precision classes whose bound the answers meet. Answers of one class meet those of looser ones."""
    if not comparison or comparison["status"] != "passed" or comparison["class"] not in PRECISIONS:
        return 0.0
    return (len(PRECISIONS) - list(PRECISIONS).index(comparison["class"])) / len(PRECISIONS)


def _find_reason(report: Report, tried: list[dict[str, Any]]) -> str:
    if report.errors or list_errors(tried):
        return "the run had errors"
    if not report.complete:
        return f"the run did not end as it should: {report.ending}"
    if not tried:
        return "nothing was tried"
    return "the backend imports the reference equations" if any(v["oracle"] for v in tried) else ""
