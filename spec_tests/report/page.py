"""The report as one HTML file that needs nothing else: no network, no script but its own, nothing of what it shows as markup."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..implementation.printable import printable
from ..specification.formats import DTYPES, RESULT_DTYPES
from ..trials.invariant import KINDS
from . import ReportError
from .backend_results import BackendResults, Cell, clearest_failure, differences, is_named

HERE = Path(__file__).parent
OPTIONS = {"keyword": "-k", "markexpr": "-m", "deselect": "--deselect", "lf": "--lf"}
MARKS = {"passed": ("holds", "✓"), "failed": ("fails", "✗"), "not held": ("does not hold", "○"), "skipped": ("not tried", "–")}


class Unavailable(ReportError):
    """The template engine is not installed."""


def page(subjects: Sequence[BackendResults]) -> str:
    """One backend's page; of several, side by side, with what is different from the first."""
    present = [d for d in RESULT_DTYPES if any(s.cell(op, d).verdicts for s in subjects for op in s.operations)]
    operations = sorted({operation for subject in subjects for operation in subject.operations})
    first, *others = subjects
    return str(
        _template().render(
            subjects=subjects,
            several=len(subjects) > 1,
            title=" and ".join(dict.fromkeys(subject.name for subject in subjects)),
            dtypes=present,
            columns=[dtype for dtype in present if dtype in DTYPES] or present,
            errors=[error for report in {id(s.report): s.report for s in subjects}.values() for error in report.errors],
            groups=_groups(operations),
            compared=[(first, other, differences(first, other)) for other in others],
            laws={operation: _laws(operation, subjects) for operation in operations},
            hardest={operation: _hardest(operation, present, subjects) for operation in operations},
            style=_file("page.css"),
            script=(script := _file("page.js")),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


@cache
def _template() -> Any:
    try:
        import jinja2
    except ImportError:
        raise Unavailable("the page needs Jinja2, which is not installed: pip install 'spec-tests[report]'") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda x: printable(x) if type(x) is str else x,  # whatever is shown; what is markup is of another type
    )
    environment.filters["share"] = lambda x: f"{x:.2f}" if x >= 0.005 else "<0.01" if x else "0"
    environment.filters["percent"] = lambda x: f"{100 * min(x, 1.0):.1f}"
    environment.filters["short"] = _short
    environment.filters["digits"] = lambda x: f"{x:.9g}" if isinstance(x, float) else str(x)
    environment.filters["plainest"] = clearest_failure
    environment.filters["unexplained"] = lambda bug: bug.candidates and sum(not is_named(v) for v in bug.verdicts)
    environment.filters["named"] = lambda candidate: candidate.removesuffix(")").rpartition(" (")[::2]
    environment.filters["option"] = lambda name: OPTIONS.get(name, name)
    environment.filters["duration"] = lambda seconds: f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    return environment.get_template("page.html")


def _file(name: str) -> Any:
    """Of ours, to stand in the page as it is."""
    from markupsafe import Markup

    return Markup((HERE / name).read_text(encoding="utf-8"))


def _groups(operations: list[str]) -> list[tuple[str, list[str]]]:
    gradients = [operation for operation in operations if operation.endswith("_vjp")]
    groups = [("Operations", [operation for operation in operations if operation not in gradients]), ("Gradients", gradients)]
    return [(title, names) for title, names in groups if names]


def _laws(operation: str, subjects: Sequence[BackendResults]) -> list[dict[str, Any]]:
    """Each invariant of an operation with what became of it in every dtype, for every backend."""
    rows: dict[str, dict[str, Any]] = {}
    for subject in subjects:
        for v in subject.verdicts:
            if v["operation"] != operation:
                continue
            row = rows.setdefault(v["id"], {"id": v["id"], "level": v["level"], "kind": KINDS.get(v["kind"], ""), "marks": {}})
            row |= {"statement": v.get("statement", ""), "source": v.get("source", "")}
            word, sign = MARKS.get(v["status"], (v["status"], "?"))
            mark = {"subject": subject, "word": word, "sign": sign, "reason": v["reason"].removeprefix("Skipped: ")}
            row["marks"].setdefault(v["dtype"], []).append({**mark, "status": v["status"].replace(" ", "-"), "n": v["examples"]})
    return sorted(rows.values(), key=lambda row: (row["level"] is not None, not row["id"].endswith(".reference"), row["id"]))


def _hardest(
    operation: str, dtypes: list[str], subjects: Sequence[BackendResults]
) -> list[tuple[BackendResults, str, dict[str, Any]]]:
    """The examples that came nearest to the limit."""
    cells: list[tuple[BackendResults, str, Cell]] = [(s, dtype, s.cell(operation, dtype)) for dtype in dtypes for s in subjects]
    return [(s, dtype, known) for s, dtype, cell in cells if (known := cell.compared.get("hardest")) and known["share"]]


def _short(argument: Any) -> str:
    """One argument of the hardest example."""
    if not isinstance(argument, dict):
        return _number(argument)
    shape = " × ".join(map(str, argument["shape"])) or "a number"
    sizes = f", from {_number(argument['least'])} to {_number(argument['largest'])}" if "least" in argument else ""
    odd = f", {argument['not finite']} not finite" if "not finite" in argument else ""
    return f"{shape}{sizes}{odd}"


def _number(x: Any) -> str:
    return f"{x:.3g}" if isinstance(x, float) else str(x)
