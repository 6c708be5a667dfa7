"""The table at the end of a run: which precision class each operation reached in each dtype, and how near the limit."""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from . import SPEC_VERSION, __version__
from .effort import current
from .trial import REFUSED, UNCALLED

DTYPES = ("float64", "float32", "bfloat16", "float16", "bool", "int64")


def write(terminal: Any, verdicts: list[dict[str, Any]]) -> None:
    for backend in dict.fromkeys(v["backend"] for v in verdicts):
        own = [v for v in verdicts if v["backend"] == backend]
        terminal.section(f"{backend}: precision class reached, worst and median share of the allowed error")
        for line in table(own):
            terminal.write_line(line)
        for line in remarks(own):
            terminal.write_line(line)
    examples = sum(v["examples"] for v in verdicts)
    note = "; smoke supports no claim of conformance" if current().name == "smoke" else ""
    failed = any(v["status"] == "failed" for v in verdicts)
    note += "" if examples or failed else "; nothing was tried: exit status 5"
    terminal.write_line(f"spec_tests {__version__}, spec {SPEC_VERSION}, effort {current().name}, {examples} examples{note}")


def table(verdicts: list[dict[str, Any]]) -> list[str]:
    cells: dict[str, dict[str, str]] = defaultdict(dict)
    for operation in sorted({v["operation"] for v in verdicts}):
        for dtype in DTYPES:
            own = [v for v in verdicts if v["operation"] == operation and v["dtype"] == dtype and v["level"] is None]
            if cell := _cell(own):
                cells[operation][dtype] = cell
    if not cells:
        return []
    dtypes = [dtype for dtype in DTYPES if any(dtype in row for row in cells.values())]
    width = max(map(len, cells)) + 2
    head = " " * width + "".join(f"{dtype:<24}" for dtype in dtypes)
    return [head, *(f"{op:<{width}}" + "".join(f"{row.get(d, ''):<24}" for d in dtypes) for op, row in cells.items())]


def _cell(verdicts: list[dict[str, Any]]) -> str:
    count = Counter(v["status"] for v in verdicts)
    ran = count["passed"] + count["failed"]
    if not ran:
        return ""
    shares = next((v for v in verdicts if v["id"].endswith(".reference") and v["worst"] is not None), None)
    detail = f"{shares['class']} {shares['worst']:.2f} {shares['median']:.2g}" if shares else ""
    if count["failed"]:
        return f"{count['failed']} of {ran} FAIL"
    return detail or "conforms"


def remarks(verdicts: list[dict[str, Any]]) -> list[str]:
    lines = []
    domains: dict[str, set[str]] = defaultdict(set)
    for v in verdicts:
        if v["domain"] and v["examples"]:
            domains[v["domain"]].add(v["operation"])
    if domains:
        restricted = sorted(f"{', '.join(sorted(operations))}: {domain}" for domain, operations in domains.items())
        lines += ["", "tried within the domain that it states:", *_wrapped(restricted)]
    if not_tried := _gathered([v for v in verdicts if v["status"] == "skipped"]):
        lines += ["", "not tried:", *_wrapped(not_tried)]
    levels: dict[str, Counter[str]] = defaultdict(Counter)
    for v in verdicts:
        if v["level"] and v["status"] in ("passed", "not held", "failed"):
            levels[v["level"]]["held" if v["status"] == "passed" else "lost"] += 1
    if levels:
        lines += ["", "levels: " + ", ".join(f"{k} {n['held']} of {n['held'] + n['lost']}" for k, n in sorted(levels.items()))]
    return lines


def _gathered(skipped: list[dict[str, Any]]) -> list[str]:
    """One sentence for all operations that share a reason."""
    sharing: dict[str, set[str]] = defaultdict(set)
    for v in skipped:
        reason = v["reason"].removeprefix("Skipped: ")
        backend, absent, operation = reason.partition(" does not implement ")
        if absent:
            sharing[f"{backend} does not implement "].add(operation)
        elif reason.startswith(REFUSED) or reason == UNCALLED:
            sharing[f"{reason.removeprefix(REFUSED)}: "].add(v["operation"])
        else:
            sharing[reason].update()
    return [start + ", ".join(sorted(operations)) for start, operations in sorted(sharing.items())]


def _wrapped(sentences: Iterable[str]) -> list[str]:
    return [line for s in sentences for line in textwrap.wrap(s, 120, initial_indent="  ", subsequent_indent="    ")]
