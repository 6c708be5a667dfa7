"""The table of a run on the terminal: a row for each operation, a column for each dtype, and a legend of what it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from types import MappingProxyType

from ..specification.formats import RESULT_DTYPES
from .verdict import StatedShares, Verdict
from .verdicts import LAWS_HOLD, OPEN, OPEN_MEANS, find_shortfall, find_shortfalls, is_open

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


def format_table(verdicts: Sequence[Verdict], effort: str) -> list[str]:
    """Return the lines of the table and of its legend. [] if nothing ran.

    An operation with several results has a row for each of them. A gradient has one row: the page shows its arrays.
    """
    rows: dict[tuple[str, str], dict[str, str]] = {}  # by operation and, where there are several, result
    shortfalls = find_shortfalls(verdicts)
    for operation in sorted({v.operation for v in verdicts}):
        whole = [v for v in verdicts if v.operation == operation and v.level is None]
        for dtype in RESULT_DTYPES:
            little, tried = shortfalls.get((operation, dtype)), [v for v in whole if v.dtype == dtype]
            cell = _format_cell(tried, find_shortfall(little) if little else "")
            cell = OPEN if cell and is_open(whole, dtype, effort) else cell
            compared = _find_comparison(tried)
            parts = compared.results if compared and "." in cell and not operation.endswith("_vjp") else {}
            shares = {result: format_shares(part) for result, part in parts.items() if part.worst is not None}
            for result, text in {"": cell, **shares}.items():
                if text:
                    rows.setdefault((operation, result), {})[dtype] = text
    if not rows:
        return []
    labels = {(operation, result): f"  {result}" if result else operation for operation, result in rows}
    dtypes = [dtype for dtype in RESULT_DTYPES if any(dtype in row for row in rows.values())]
    width = max(map(len, labels.values())) + 2
    has_shares = [any("." in row.get(dtype, "") for row in rows.values()) for dtype in dtypes]
    lines = ["".join(f"{dtype:<{CELL}}" for dtype in dtypes)]
    lines += ["".join(f"{TITLES * shown:<{CELL}}" for shown in has_shares)] * any(has_shares)
    table = [f"{label:<{width}}" + "".join(f"{rows[key].get(d, ''):<{CELL}}" for d in dtypes) for key, label in labels.items()]
    return [*(" " * width + line for line in lines), *table, *_write_legend(rows.values(), verdicts, any(has_shares))]


def _format_cell(verdicts: Sequence[Verdict], shortfall: str) -> str:
    """Return the failures, or how little was answered, or the class and the shares of the allowed error, or "" if nothing ran."""
    count = Counter(v.status for v in verdicts)
    ran = count["passed"] + count["failed"]
    if not ran:
        return shortfall
    if count["failed"]:
        return f"{count['failed']} of {ran} FAIL"
    comparison = _find_comparison(verdicts)
    return shortfall or (format_shares(comparison) if comparison else LAWS_HOLD)


def _find_comparison(verdicts: Sequence[Verdict]) -> Verdict | None:
    """Return the verdict of the comparison with the reference, None if there is none."""
    return next((v for v in verdicts if v.is_comparison and v.worst is not None), None)


def format_shares(shares: Verdict | StatedShares) -> str:
    """Return the class that a comparison with the reference reached, and its worst and its median share."""
    return f"{shares.precision:<6} {shares.worst:>5.2f} {shares.median:>6.2f}"


def _write_legend(rows: Iterable[dict[str, str]], verdicts: Sequence[Verdict], has_shares: bool) -> list[str]:
    """Return at most two lines on what appears in the table and among the dots."""
    shown = [cell for row in rows for cell in row.values()] + [v.status for v in verdicts if v.level]
    notes = [note for word, note in NOTES.items() if any(word in text for text in shown)]
    return [f"  {line}" for line in ([LEGEND] * has_shares + ["; ".join(notes)] * bool(notes))]
