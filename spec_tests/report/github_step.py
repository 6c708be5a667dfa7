"""The summary of a step of GitHub Actions, in Markdown: first the bugs, then the table of operations."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from ..implementation.printable import printable
from ..inputs.effort import describe_shapes
from ..specification.formats import RESULT_DTYPES
from .backend_results import BackendResults
from .bugs import Bug
from .cell import Cell
from .verdict import Message
from .verdicts import LAWS_HOLD, OPEN, OPEN_MEANS

TONE_SYMBOLS = MappingProxyType({"good": "✅", "bad": "❌", "open": "⚪"})
MAX_DESCRIBED = 20  # bugs, and errors, of a backend: GitHub limits the size of a summary


def format_step_summary(results: Sequence[BackendResults]) -> str:
    """Return the summary of a step, all backends one after the other."""
    return "\n".join(line for result in results for line in _describe_backend(result)) + "\n"


def _describe_backend(result: BackendResults) -> Iterator[str]:
    header = result.report.header
    yield f"## {TONE_SYMBOLS[result.tone]} {_escape(result.name)}: {_escape(result.sentence)}"
    yield ""
    version = f"{_escape(result.backend.version)}, " if result.backend else ""
    smoke = ", which supports no claim of conformance" if header.effort == "smoke" else ""
    effort = f"{_escape(header.effort)} effort{smoke}{describe_shapes(header.shapes)}"
    yield f"{version}spec {_escape(header.spec)}, {effort}, {result.examples} examples"
    yield ""
    for bug in result.bugs[:MAX_DESCRIBED]:
        yield from _describe_bug(bug)
    if len(result.bugs) > MAX_DESCRIBED:
        yield f"… and {len(result.bugs) - MAX_DESCRIBED} more: see the report."
    for error in result.report.errors[:MAX_DESCRIBED]:
        last_line = error.message.strip().rpartition("\n")[2]
        yield f"- error in {_escape(error.node or 'the run', 300)}: {_escape(last_line, 300)}"
    dtypes = [dtype for dtype in RESULT_DTYPES if any(result.cell(op, dtype).verdicts for op in result.operations)]
    if dtypes:
        yield ""
        yield "| operation | " + " | ".join(dtypes) + " |"
        yield "|---" * (len(dtypes) + 1) + "|"
        for operation in result.operations:
            cells = (_format_cell(result.cell(operation, dtype)) for dtype in dtypes)
            yield f"| {_escape(operation)} | " + " | ".join(cells) + " |"
        yield ""
        for title in (
            "Answered too little to conform",
            "Computes float64 in float32",
            "Optional variants that it refuses",
            "Tried only within this domain",
        ):
            for sentence in result.remarks[title][:MAX_DESCRIBED]:
                yield f"- {title}: {_escape(sentence, 300)}"
        yield ""
        yield "The precision class reached, and the largest and the median share of the allowed error that an example used."
        if result.has_open_cells:
            yield f"*{OPEN}*: {OPEN_MEANS}."
    yield ""


def _describe_bug(bug: Bug) -> Iterator[str]:
    yield f"### {_escape(bug.operation)}" + (f": {_escape(bug.what, 400)}" if bug.candidates else "")
    yield ""
    confidence = f"; the diagnosis explains {bug.confidence}" if bug.confidence else ""
    yield f"breaks {', '.join(map(_escape, bug.laws[:6]))}{' …' * (len(bug.laws) > 6)} in {', '.join(bug.dtypes)}{confidence}"
    yield ""
    _, message = bug.find_clearest_failure()
    yield "<pre>"
    text = ""
    if isinstance(message, Message):
        facts = [f"  {label:<9} {fact}" for label, fact in message.facts]
        text = "\n".join(filter(None, [message.inputs, message.what, *facts, f"again: {message.again}"]))
    elif message is not None:
        text = message.message
    yield re.sub(r"\n\s*\n", "\n", html.escape(printable(text, 2000)))  # an empty line would end the block of HTML
    yield "</pre>"
    yield ""


def _format_cell(cell: Cell) -> str:
    if cell.failed:
        return f"❌ {len(cell.failed)} of {len(cell.tried)} fail"
    if cell.shortfall:
        return f"⚪ {cell.shortfall}"
    if cell.is_open:
        return f"⚪ {OPEN}"
    if cell.worst is None or cell.median is None:
        return LAWS_HOLD if cell.tried else ""
    return f"{_escape(cell.reached)} {cell.worst:.2f} {cell.median:.2g}"


def _escape(text: str, max_length: int = 200) -> str:
    """Return the text as one line in which nothing is markup."""
    line = " ".join(printable(str(text), max_length).split())
    return re.sub(r"([\\`*_{}\[\]()#+!|~@-])", r"\\\1", html.escape(line, quote=False))
