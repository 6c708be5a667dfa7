"""What pytest is told of a trial: the message of a failure, the facts of the verdict, and what a report keeps besides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ..calls.violation import Violation
from ..implementation.printable import printable
from ..report.failure import describe_failure, format_failure, summarize_failure

if TYPE_CHECKING:
    from .session import Session

DETAILS_ATTRIBUTE = "spec_tests_details"  # the attribute by which they travel from a worker to the process that writes the report


def make_report(report: pytest.TestReport, item: pytest.Item, call: pytest.CallInfo[Any], session: Session) -> None:
    invariant, trial = item.obj.invariant, item.callspec.params["trial"]  # type: ignore[attr-defined]
    error, said = call.excinfo.value if call.excinfo else None, None
    reason = trial.tally.level_lost or (str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else "")
    if report.failed:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
    violation = trial.tally.tolerated or (error if report.failed and isinstance(error, Violation) else None)
    if violation:
        said = describe_failure(invariant, trial, violation)
        reason = printable(summarize_failure(said))
        session.restore()
        if report.failed:
            report.longrepr = _shown(item, format_failure(said), reason)
    status = "not held" if trial.tally.level_lost else "failed" if violation else report.outcome
    facts = session.verdict_record(invariant, trial, status, reason, report.duration)
    report.sections = [(title, printable(text)) for title, text in report.sections]  # megabytes, perhaps
    for properties in (item.user_properties, report.user_properties):  # the former for --junitxml
        properties.append(("spec_tests", json.dumps(facts)))
    if item.config.getoption("report"):
        from .recorded_details import record_details

        kept = record_details(session, invariant, trial, said or ({"message": report.longreprtext} if report.failed else None))
        setattr(report, DETAILS_ATTRIBUTE, json.dumps(kept))


def _shown(item: pytest.Item, text: str, line: str) -> Any:
    """The text as it is, where pytest would print a traceback; the line in its short summary."""
    from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback

    path, number, _ = item.location
    lines = ReprEntryNative([f"{text}\n"])
    return ReprExceptionInfo(ReprTraceback([lines], None, "native"), ReprFileLocation(path, (number or 0) + 1, line))
