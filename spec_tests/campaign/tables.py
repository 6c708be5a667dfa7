"""What is made of a merged report: its page, a badge for each backend, and the table of conformance as plain JSON files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..report import PAGE, Report, to_json_value
from ..report.backend_results import BackendResults, build_results, find_differences
from ..report.badge import format_badge
from ..report.cell import Cell
from ..report.page import render_page
from ..report.template import PageUnavailable
from ..running.report_folder import replace_file
from ..specification.formats import RESULT_DTYPES

CONFORMANCE, DISAGREEMENTS, DIFFERENCES = "conformance.json", "disagreements.json", "differences.json"


def tabulate(results: Sequence[BackendResults]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the cells by backend, operation and dtype."""
    return {
        result.name: {
            operation: {
                dtype: _describe_cell(cell) for dtype in RESULT_DTYPES if (cell := result.cell(operation, dtype)).verdicts
            }
            for operation in result.operations
        }
        for result in results
    }


def _describe_cell(cell: Cell) -> dict[str, Any]:
    return {
        "state": cell.state,  # conforms, deviates, little, held or absent
        "class": cell.reached,
        "worst": cell.worst,
        "median": cell.median,
        "laws": len(cell.tried),
        "failed": sorted({verdict.id for verdict in cell.failed}),
        "cause": next((cause.what for verdict in cell.failed for cause in verdict.causes), ""),  # the first one
        "examples": sum(verdict.examples for verdict in cell.verdicts),
    }


def find_disagreements(results: Sequence[BackendResults]) -> list[dict[str, Any]]:
    """Return the laws that some backends break and others hold, in one dtype: what a user who changes library would notice."""
    sides: dict[tuple[str, str], dict[str, list[str]]] = {}
    for result in results:
        for verdict in result.verdicts:
            if verdict.status in ("passed", "failed", "not held"):
                side = "holds" if verdict.status == "passed" else "fails"
                sides.setdefault((verdict.id, verdict.dtype), {"holds": [], "fails": []})[side].append(result.name)
    return [{"id": law, "dtype": dtype, **names} for (law, dtype), names in sorted(sides.items()) if all(names.values())]


def list_differences(before: Sequence[BackendResults], after: Sequence[BackendResults]) -> list[dict[str, Any]]:
    """Return the verdicts of each backend that differ between two merged reports."""
    earlier = {result.name: result for result in before}
    return [
        {"backend": result.name, "operation": operation, "change": change, "laws": laws}
        for result in after
        if result.name in earlier
        for change, operation, laws in find_differences(earlier[result.name], result)
    ]


def publish(report: Report, before: Report | None = None) -> list[Path]:
    """Write the page, the badges and the tables of a merged report into its folder. Return the files."""
    folder, results = report.path.parent, build_results([report])
    files = {
        CONFORMANCE: _format_json(tabulate(results)),
        DISAGREEMENTS: _format_json(find_disagreements(results)),
        **{f"badge-{re.sub(r'[^A-Za-z0-9_.-]+', '-', result.name)}.json": format_badge([result]) for result in results},
    }
    if before is not None:
        files[DIFFERENCES] = _format_json(list_differences(build_results([before]), results))
    with suppress(PageUnavailable):
        files[PAGE] = render_page(results)
    for name, text in files.items():
        replace_file(folder / name, text)
    return [folder / name for name in files]


def _format_json(value: Any) -> str:
    return json.dumps(to_json_value(value), indent=1, allow_nan=False) + "\n"
