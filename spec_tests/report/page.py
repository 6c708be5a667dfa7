"""The page of a report: one HTML file that needs no other file and no network.

Text from a report never becomes markup, and the only script that runs is page.js.
"""

from __future__ import annotations

import base64
import hashlib
import math
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..implementation.printable import printable
from ..specification.formats import DTYPES, RESULT_DTYPES
from ..specification.installation import install_line
from ..trials.invariant import KINDS
from . import ReportError, to_json_value
from .backend_results import BackendResults, find_differences
from .verdict import ArrayFacts, Hardest
from .verdicts import OPEN, OPEN_MEANS

FOLDER = Path(__file__).parent
SELECTION_OPTIONS = MappingProxyType({"keyword": "-k", "markexpr": "-m", "deselect": "--deselect", "lf": "--lf"})
STATUS_MARKS = MappingProxyType(
    {  # for each status, the word and the sign of its mark
        "passed": ("holds", "✓"),
        "failed": ("fails", "✗"),
        "not held": ("does not hold", "○"),
        "skipped": ("not tried", "–"),
    }
)


class PageUnavailable(ReportError):
    """The template engine is not installed."""


def render_page(results: Sequence[BackendResults]) -> str:
    """Return the page of one backend, or of several side by side, with the differences from the first."""
    present = [d for d in RESULT_DTYPES if any(result.cell(op, d).verdicts for result in results for op in result.operations)]
    operations = sorted({operation for result in results for operation in result.operations})
    reports = {id(result.report): result.report for result in results}  # a report may have several backends
    first, *others = results
    return str(
        _load_template().render(
            results=results,
            several=len(results) > 1,
            title=" and ".join(dict.fromkeys(result.name for result in results)),
            dtypes=present,
            columns=[dtype for dtype in present if dtype in DTYPES] or present,
            open_word=OPEN,
            open_means=OPEN_MEANS,
            errors=[error for report in reports.values() for error in report.errors],
            groups=_group_operations(operations),
            comparisons=[(first, other, find_differences(first, other)) for other in others],
            laws={operation: _collect_laws(operation, results) for operation in operations},
            hardest={operation: _collect_hardest(operation, present, results) for operation in operations},
            style=_read_file("page.css"),
            script=(script := _read_file("page.js")),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


@cache
def _load_template() -> Any:
    """Return the Jinja template page.html, with the filters that it uses."""
    try:
        import jinja2
    except ImportError:
        raise PageUnavailable(f"the page needs Jinja2, which is not installed: {install_line('report')}") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda x: printable(x) if type(x) is str else x,  # whatever is shown, except Markup, which is a subclass of str
    )
    environment.filters["share"] = lambda x: f"{x:.2f}" if x >= 0.005 else "<0.01" if x else "0"
    environment.filters["percent"] = lambda x: f"{100 * min(x, 1.0):.1f}"
    environment.filters["summary"] = _summarize_argument
    environment.filters["digits"] = _format_digits
    environment.filters["option"] = lambda name: SELECTION_OPTIONS.get(name, name)
    environment.filters["shell"] = shlex.join
    environment.filters["duration"] = lambda seconds: f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    return environment.get_template("page.html")


def _format_digits(x: float) -> str:
    return f"{x:.9g}" if math.isfinite(x) else str(to_json_value(x))


def _read_file(name: str) -> Any:
    """Return a file of this folder as markup, which is not escaped."""
    from markupsafe import Markup

    return Markup((FOLDER / name).read_text(encoding="utf-8"))


def _group_operations(operations: list[str]) -> list[tuple[str, list[str]]]:
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


def _summarize_argument(argument: Any) -> str:
    """Describe one argument of the hardest example in a few words."""
    if not isinstance(argument, ArrayFacts):
        return _format_number(argument)
    shape = " × ".join(map(str, argument.shape)) or "a number"
    sizes = "" if argument.least is None else f", from {_format_number(argument.least)} to {_format_number(argument.largest)}"
    not_finite = f", {argument.not_finite} not finite" if argument.not_finite else ""
    return f"{shape}{sizes}{not_finite}"


def _format_number(x: Any) -> str:
    return f"{x:.3g}" if isinstance(x, float) else str(x)
