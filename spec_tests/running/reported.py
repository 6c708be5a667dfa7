"""What pytest's report of an item carries: the verdict, its details for report.jsonl, and the causes that it tells first.

pytest-xdist sends a report to the process that prints and writes, as JSON. So they are records there, and read again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pytest

from ..report.records import from_record, to_record
from ..report.run_lines import StatedBackend
from ..report.verdict import ForeignMessage, Hardest, Message, RecordedVerdict, ToldCause, Verdict
from .options import VERDICT_PROPERTY

CAUSES_ATTRIBUTE, DETAILS_ATTRIBUTE = "spec_tests_causes", "spec_tests_details"  # of a TestReport


@dataclass(frozen=True, kw_only=True)
class Details:
    """What a report says of a verdict besides the verdict itself, and the backends, if no verdict before has told them."""

    statement: str
    source: str
    hardest: Hardest | None
    failure: Message | ForeignMessage | None
    other_failures: tuple[Message | ForeignMessage, ...]
    backends: tuple[StatedBackend, ...]

    def add_to(self, verdict: Verdict, node: str) -> RecordedVerdict:
        """Return the verdict as a report has it."""
        own = {name: value for name, value in vars(self).items() if name != "backends"}
        return RecordedVerdict(**vars(verdict), **own, node=node)


def carry_verdict(verdict: Verdict, report: pytest.TestReport, item: pytest.Item) -> None:
    text = json.dumps(to_record(verdict))
    for properties in (item.user_properties, report.user_properties):  # the former for --junitxml
        properties.append((VERDICT_PROPERTY, text))


def carry_causes(causes: list[ToldCause], report: pytest.TestReport) -> None:
    setattr(report, CAUSES_ATTRIBUTE, json.dumps(to_record(causes)))


def carry_details(details: Details, report: pytest.TestReport) -> None:
    setattr(report, DETAILS_ATTRIBUTE, json.dumps(to_record(details)))


def has_verdict(report: Any) -> bool:
    """Whether a report is of a law of this suite."""
    return any(key == VERDICT_PROPERTY for key, _ in getattr(report, "user_properties", ()))


def find_verdict(report: Any) -> Verdict | None:
    """Return the verdict that a report carries, None if it is of another phase, or of another test."""
    if report.when != "call":
        return None
    return next(
        (_read_verdict(str(text)) for key, text in getattr(report, "user_properties", ()) if key == VERDICT_PROPERTY), None
    )


@lru_cache(maxsize=2)
def _read_verdict(text: str) -> Verdict:  # several plugins read the verdict of one report
    return from_record(Verdict, json.loads(text), "verdict")


def find_causes(report: Any) -> list[ToldCause] | None:
    """Return the causes that a report is the first to tell, None if it is of no law that failed from causes."""
    if not has_verdict(report) or not hasattr(report, CAUSES_ATTRIBUTE):
        return None
    return [from_record(ToldCause, record, "cause") for record in json.loads(getattr(report, CAUSES_ATTRIBUTE))]


def find_details(report: Any) -> Details | None:
    """Return the details of the verdict, None if the run has no report."""
    text = getattr(report, DETAILS_ATTRIBUTE, "")
    return from_record(Details, json.loads(text), "verdict") if text else None
