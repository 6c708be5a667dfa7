"""The summary of a step of GitHub Actions, in its Markdown: what is wrong, then the table."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from ..implementation.printable import printable
from ..inputs.effort import describe_shapes
from ..specification.formats import RESULT_DTYPES
from .backend_results import BackendResults, Cell, clearest_failure
from .verdicts import LAWS_HOLD, Bug

MARKS = {"good": "✅", "bad": "❌", "open": "⚪"}
MANY = 20  # bugs that are told; a step's summary has a limit


def step_summary(subjects: Sequence[BackendResults]) -> str:
    return "\n".join(line for subject in subjects for line in _describe_failure(subject)) + "\n"


def _describe_failure(subject: BackendResults) -> Iterator[str]:
    header = subject.report.header
    yield f"## {MARKS[subject.tone]} {_text(subject.name)}: {_text(subject.sentence)}"
    yield ""
    version = f"{_text(subject.backend['version'])}, " if subject.backend else ""
    smoke = ", which supports no claim of conformance" if header["effort"] == "smoke" else ""
    few = describe_shapes(header.get("shapes"))
    yield f"{version}spec {_text(header['spec'])}, {_text(header['effort'])} effort{smoke}{few}, {subject.examples} examples"
    yield ""
    for bug in subject.bugs[:MANY]:
        yield from _bug(bug)
    if len(subject.bugs) > MANY:
        yield f"… and {len(subject.bugs) - MANY} more: see the report."
    for error in subject.report.errors[:MANY]:
        last = error["message"].strip().rpartition("\n")[2]
        yield f"- error in {_text(error['node'] or 'the run', 300)}: {_text(last, 300)}"
    dtypes = [d for d in RESULT_DTYPES if any(subject.cell(op, d).verdicts for op in subject.operations)]
    if dtypes:
        yield ""
        yield "| operation | " + " | ".join(dtypes) + " |"
        yield "|---" * (len(dtypes) + 1) + "|"
        for operation in subject.operations:
            yield f"| {_text(operation)} | " + " | ".join(_cell(subject.cell(operation, dtype)) for dtype in dtypes) + " |"
        yield ""
        yield "The precision class reached, and the largest and the median share of the allowed error that an example used."
    yield ""


def _bug(bug: Bug) -> Iterator[str]:
    yield f"### {_text(bug.operation)}" + (f": {_text(' or '.join(bug.candidates), 400)}" if bug.candidates else "")
    yield ""
    yield f"breaks {', '.join(map(_text, bug.laws[:6]))}{' …' * (len(bug.laws) > 6)} in {', '.join(bug.dtypes)}"
    yield ""
    failure = clearest_failure(bug).get("failure") or {}
    facts = [f"  {label:<9} {fact}" for label, fact in failure.get("facts", [])]
    again = f"again: {failure['again']}" if "again" in failure else failure.get("message", "")
    yield "<pre>"
    shown = "\n".join(filter(None, [failure.get("inputs", ""), failure.get("what", ""), *facts, again]))
    yield re.sub(r"\n\s*\n", "\n", html.escape(printable(shown, 2000)))  # an empty line would end the block of HTML
    yield "</pre>"
    yield ""


def _cell(cell: Cell) -> str:
    if cell.broken:
        return f"❌ {len(cell.broken)} of {len(cell.tried)} fail"
    if cell.worst is None or cell.median is None:
        return LAWS_HOLD if cell.tried else ""
    return f"{_text(cell.reached)} {cell.worst:.2f} {cell.median:.2g}"


def _text(text: str, longest: int = 200) -> str:
    """One line in which nothing is markup."""
    line = " ".join(printable(str(text), longest).split())
    return re.sub(r"([\\`*_{}\[\]()#+!|~@-])", r"\\\1", html.escape(line, quote=False))
