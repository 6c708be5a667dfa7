"""The table of a run on the terminal: a row for each operation, a column for each dtype, and a legend of what it shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from types import MappingProxyType
from typing import Any

from ..specification.formats import RESULT_DTYPES
from .verdicts import LAWS_HOLD, OPEN, OPEN_MEANS, find_shortfall, find_shortfalls, is_open

Verdicts = list[dict[str, Any]]

CELL = 24  # characters of a column
TITLES = f"{'class':<6} {'worst':>5} {'median':>6}"
LEGEND = "class: fused rounds no intermediate result to 16 bits, mixed some, eager all; worst, median: share of the allowed error"
NOTES = MappingProxyType(
    {  # what a cell or a dot may show, and what that means
        "FAIL": "FAIL: so many of the laws that ran fail",
        LAWS_HOLD: "laws hold: they do, without a comparison with the reference, so that nothing is claimed",
        "answered": "answered: too few examples to conform",
        OPEN: f"{OPEN}: {OPEN_MEANS}",
        "not held": "x among the dots: an optional property that does not hold, which fails no run",
    }
)


def format_table(verdicts: Verdicts, effort: str) -> list[str]:
    """Return the lines of the table and of its legend. [] if nothing ran."""
    cells: dict[str, dict[str, str]] = defaultdict(dict)
    shortfalls = find_shortfalls(verdicts)
    for operation in sorted({v["operation"] for v in verdicts}):
        whole = [v for v in verdicts if v["operation"] == operation and v["level"] is None]
        for dtype in RESULT_DTYPES:
            little = shortfalls.get((operation, dtype))
            cell = _format_cell([v for v in whole if v["dtype"] == dtype], find_shortfall(little) if little else "")
            if cell:
                cells[operation][dtype] = OPEN if is_open(whole, dtype, effort) else cell
    if not cells:
        return []
    dtypes = [dtype for dtype in RESULT_DTYPES if any(dtype in row for row in cells.values())]
    width = max(map(len, cells)) + 2
    shares = [any("." in row.get(dtype, "") for row in cells.values()) for dtype in dtypes]
    lines = ["".join(f"{dtype:<{CELL}}" for dtype in dtypes)]
    lines += ["".join(f"{TITLES * has_shares:<{CELL}}" for has_shares in shares)] * any(shares)
    rows = [f"{operation:<{width}}" + "".join(f"{row.get(d, ''):<{CELL}}" for d in dtypes) for operation, row in cells.items()]
    return [*(" " * width + line for line in lines), *rows, *_write_legend(cells, verdicts, any(shares))]


def _format_cell(verdicts: Verdicts, shortfall: str) -> str:
    """Return the failures, or how little was answered, or the class and the shares of the allowed error, or "" if nothing ran."""
    count = Counter(v["status"] for v in verdicts)
    ran = count["passed"] + count["failed"]
    if not ran:
        return shortfall
    if count["failed"]:
        return f"{count['failed']} of {ran} FAIL"
    comparison = next((v for v in verdicts if v["id"].endswith(".reference") and v["worst"] is not None), None)
    return shortfall or (format_shares(comparison) if comparison else LAWS_HOLD)


def format_shares(comparison: dict[str, Any]) -> str:
    """Return the class that a comparison with the reference reached, and its worst and its median share."""
    return f"{comparison['class']:<6} {float(comparison['worst']):>5.2f} {float(comparison['median']):>6.2f}"


def _write_legend(cells: dict[str, dict[str, str]], verdicts: Verdicts, has_shares: bool) -> list[str]:
    """Return at most two lines on what appears in the table and among the dots."""
    shown = [cell for row in cells.values() for cell in row.values()] + [v["status"] for v in verdicts if v["level"]]
    notes = [note for word, note in NOTES.items() if any(word in text for text in shown)]
    return [f"  {line}" for line in ([LEGEND] * has_shares + ["; ".join(notes)] * bool(notes))]
