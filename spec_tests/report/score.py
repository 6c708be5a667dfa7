"""A score for one operation of a backend, as a reward for programs that write kernels. `spec-tests score` prints it.

    no law fails:   value = skill * (1 + precision) / 2
    a law fails:    value = skill * laws / 4

The skill is that of `trials/skill.py`. A trivial answer has none, so that it scores 0, whatever laws it happens to hold.
A backend that fails a law scores at most 1/4. A backend that answers everything and fails no law scores at least 2/3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..specification.formats import PRECISIONS
from . import Report
from .bugs import group_bugs, list_errors
from .verdict import Verdict


@dataclass(frozen=True)
class Score:
    """The score of one operation, and its parts. The value and the first four parts are between 0 and 1."""

    value: float = 0.0
    skill: float = 0.0  # how far the answers are above the best trivial answer, as a share of what a right answer is above it
    laws: float = 0.0  # the share of the tests that were tried and passed
    coverage: float = 0.0  # the answered share of the examples that the comparison with the oracle drew
    precision: float = 0.0  # the share of the precision classes whose bound the answers meet, as a mean over the dtypes
    causes: list[str] | None = field(default_factory=list)  # what is wrong, in the order to mend it; None: not looked for
    reason: str = ""  # why the value is 0 whatever the parts are, "" if the parts decide
    operation: str = ""
    domain: str = ""  # what was tried; "" is everything
    confinement: str = ""  # what kept the process of the backend from others, and what this system does not allow
    effort: str = ""
    seed: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the score as plain data."""
        return asdict(self)


def compute_score(report: Report, operation: str, dtypes: Collection[str], seed: int, exit_status: int) -> Score:
    """Return the score of the operation in these dtypes, or in those of the report if none are given.

    `exit_status` is that of the process that has written the report.
    """
    verdicts = [v for v in report.verdicts if v.operation == operation and v.level is None]
    failed = [v for v in verdicts if v.status == "failed"]
    tried = [*(v for v in verdicts if v.status == "passed" and v.examples), *failed]
    laws = (len(tried) - len(failed)) / len(tried) if tried else 0.0
    comparisons = {v.dtype: v for v in verdicts if v.is_comparison}
    asked = [comparisons.get(dtype) for dtype in list(dtypes) or list(comparisons)]

    def average(share: Callable[[Verdict], float]) -> float:
        return sum(share(comparison) for comparison in asked if comparison) / max(len(asked), 1)

    skill, precision = average(_find_skill), average(_met_share)
    reason = _find_ending(report, exit_status) or _find_reason(report, tried, [comparison for comparison in asked if comparison])
    return Score(
        value=0.0 if reason else skill * (laws / 4 if failed else (1 + precision) / 2),
        skill=skill,
        laws=laws,
        coverage=average(_answered_share),
        precision=precision,
        causes=[bug.what for bug in group_bugs(failed)],
        reason=reason,
        operation=operation,
        domain=next((v.domain for v in verdicts if v.domain), ""),
        confinement=next((backend.confinement for backend in report.backends if backend.confinement), ""),
        effort=str(report.header.effort),
        seed=seed,
    )


def _find_skill(comparison: Verdict) -> float:
    """Return the share of what could be earned. Examples that were planned and not drawn, after a call was lost, earn nothing."""
    skill = comparison.skill
    if not skill or not skill.possible or not skill.planned:
        return 0.0
    return skill.earned / skill.possible * min(skill.drawn / skill.planned, 1.0)


def _answered_share(comparison: Verdict) -> float:
    return comparison.answered / comparison.drawn if comparison.drawn else 0.0


def _met_share(comparison: Verdict) -> float:
    """Return the share of the precision classes whose bound the answers meet. Answers of one class meet those of looser ones."""
    if comparison.status != "passed" or comparison.precision not in PRECISIONS:
        return 0.0
    return (len(PRECISIONS) - list(PRECISIONS).index(comparison.precision)) / len(PRECISIONS)


def _find_ending(report: Report, exit_status: int) -> str:
    """Return what is wrong with how the run ended, "" if nothing is. Its process must have ended as its report says."""
    if report.footer is None or not report.complete:
        return f"the run did not end as it should: {report.ending}"
    if report.footer.exit_status != exit_status:
        return f"the run ended with status {exit_status}, and its report says {report.footer.exit_status}"
    return ""


def _find_reason(report: Report, tried: Sequence[Verdict], comparisons: Sequence[Verdict]) -> str:
    if report.errors or list_errors(tried):
        return "the run had errors"
    if not any(v.examples or v.drawn for v in tried):
        return "nothing was tried"
    if any(v.oracle for v in tried):
        return "the backend imports the reference equations"
    compared = [skill for comparison in comparisons if (skill := comparison.skill)]
    if compared and not any(skill.possible for skill in compared):
        return "a trivial answer is right in every example that was drawn"
    return ""
