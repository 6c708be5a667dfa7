"""The page of a report, of one backend or of several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..specification.formats import DTYPES, RESULT_DTYPES
from ..trials.invariant import KINDS
from .backend_results import BackendResults, find_differences
from .template import FOLDER, render
from .verdict import Hardest
from .verdicts import OPEN, OPEN_MEANS

TEMPLATE = "page.html"
STATUS_MARKS = MappingProxyType(
    {  # for each status, the word and the sign of its mark
        "passed": ("holds", "✓"),
        "failed": ("fails", "✗"),
        "not held": ("does not hold", "○"),
        "skipped": ("not tried", "–"),
    }
)


def render_page(results: Sequence[BackendResults], template: str = TEMPLATE, folder: Path = FOLDER, **more: Any) -> str:
    """Return the page of one backend, or of several side by side, with the differences from the first.

    `template` is a template of `folder` that extends that of this page, and `more` what it uses besides.
    """
    present = [d for d in RESULT_DTYPES if any(result.cell(op, d).verdicts for result in results for op in result.operations)]
    operations = sorted({operation for result in results for operation in result.operations})
    reports = {id(result.report): result.report for result in results}  # a report may have several backends
    first, *others = results
    return render(
        template,
        folder,
        results=results,
        several=len(results) > 1,
        title=" and ".join(dict.fromkeys(result.name for result in results)),
        dtypes=present,
        columns=[dtype for dtype in present if dtype in DTYPES] or present,
        open_word=OPEN,
        open_means=OPEN_MEANS,
        errors=[error for report in reports.values() for error in report.errors],
        groups=group_operations(operations),
        comparisons=[(first, other, find_differences(first, other)) for other in others],
        laws={operation: _collect_laws(operation, results) for operation in operations},
        hardest={operation: _collect_hardest(operation, present, results) for operation in operations},
        **more,
    )


def group_operations(operations: list[str]) -> list[tuple[str, list[str]]]:
    """Return the groups of operations that are not empty, each with its title."""
    gradients = [operation for operation in operations if operation.endswith("_vjp")]
    groups = [("Operations", [operation for operation in operations if operation not in gradients]), ("Gradients", gradients)]
    return [(title, names) for title, names in groups if names]


def _collect_laws(operation: str, results: Sequence[BackendResults]) -> list[dict[str, Any]]:
    """Return one row for each invariant of an operation: its statement, and its marks in every dtype and for every backend."""
    rows: dict[str, dict[str, Any]] = {}
    for result in results:
        for v in result.verdicts:
            if v.operation != operation:
                continue
            row = rows.setdefault(v.id, {"id": v.id, "level": v.level, "kind": KINDS.get(v.kind, ""), "marks": {}})
            row |= {"statement": v.statement, "source": v.source}
            word, sign = STATUS_MARKS.get(v.status, (v.status, "?"))
            mark = {"result": result, "word": word, "sign": sign, "reason": v.reason.removeprefix("Skipped: ")}
            mark |= {"status": v.status.replace(" ", "-"), "examples": v.examples}
            row["marks"].setdefault(v.dtype, []).append(mark)
    return sorted(rows.values(), key=lambda row: (row["level"] is not None, not row["id"].endswith(".reference"), row["id"]))


def _collect_hardest(
    operation: str, dtypes: list[str], results: Sequence[BackendResults]
) -> list[tuple[BackendResults, str, Hardest]]:
    """Return the examples that used the largest share of the allowed error, one for each dtype and backend."""
    comparisons = [(result, dtype, result.cell(operation, dtype).comparison) for dtype in dtypes for result in results]
    examples = [(result, dtype, comparison.hardest) for result, dtype, comparison in comparisons if comparison]
    return [(result, dtype, example) for result, dtype, example in examples if example and example.share]
