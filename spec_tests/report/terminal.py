"""The table at the end of a run: which precision class each operation reached in each dtype, and how near the limit."""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from ..inputs.effort import current_effort, describe_shapes, shape_count
from ..specification.formats import RESULT_DTYPES
from ..specification.version import SPEC_VERSION, __version__
from .failure import MATCHES_PREFIX
from .verdicts import LAWS_HOLD, Bug, count_levels, domain_lines, group_bugs, known_lines, not_tried_lines

ORACLE = "it has imported the oracle (reference_numpy): what conforms may be the suite's own equations"


def write(terminal: Any, verdicts: list[dict[str, Any]]) -> None:
    for backend in dict.fromkeys(v["backend"] for v in verdicts):
        own = [v for v in verdicts if v["backend"] == backend]
        terminal.section(f"{backend}: precision class reached, worst and median share of the allowed error")
        for line in table(own):
            terminal.write_line(line)
        for line in remark_lines(own):
            terminal.write_line(line)
    examples = sum(v["examples"] for v in verdicts)
    note = "; smoke supports no claim of conformance" if current_effort().name == "smoke" else ""
    failed = any(v["status"] == "failed" for v in verdicts)
    note += "" if examples or failed else "; nothing was tried: exit status 5"
    few = describe_shapes(shape_count())
    terminal.write_line(
        f"spec_tests {__version__}, spec {SPEC_VERSION}, effort {current_effort().name}{few}, {examples} examples{note}"
    )


def table(verdicts: list[dict[str, Any]]) -> list[str]:
    cells: dict[str, dict[str, str]] = defaultdict(dict)
    for operation in sorted({v["operation"] for v in verdicts}):
        for dtype in RESULT_DTYPES:
            own = [v for v in verdicts if v["operation"] == operation and v["dtype"] == dtype and v["level"] is None]
            if cell := _cell(own):
                cells[operation][dtype] = cell
    if not cells:
        return []
    dtypes = [dtype for dtype in RESULT_DTYPES if any(dtype in row for row in cells.values())]
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
    return detail or LAWS_HOLD


def remark_lines(verdicts: list[dict[str, Any]]) -> list[str]:
    parts = {
        "deviates:": bug_lines(verdicts),
        "fails nothing, because a file says that it is known:": known_lines(verdicts),
        "tried within the domain that it states:": domain_lines(verdicts),
        "not tried:": not_tried_lines(verdicts),
        "judged by itself:": [ORACLE] * any(v.get("oracle") for v in verdicts),
    }
    lines = [line for title, found in parts.items() if found for line in ("", title, *_wrap(found))]
    if kept := count_levels(verdicts):
        lines += ["", "levels: " + ", ".join(f"{level} {held} of {tried}" for level, (held, tried) in kept.items())]
    return lines


def bug_lines(verdicts: list[dict[str, Any]]) -> list[str]:
    return [_describe_bug(bug) for bug in group_bugs(verdicts)]


def _describe_bug(bug: Bug) -> str:
    more = f" and {len(bug.laws) - 3} more" if len(bug.laws) > 4 else ""
    laws = ", ".join(bug.laws[:3] if more else bug.laws) + more
    said = f" {MATCHES_PREFIX}{' or '.join(bug.candidates)};" if bug.candidates else ":"
    return f"{bug.operation}{said} breaks {laws} in {', '.join(bug.dtypes)}"


def _wrap(sentences: Iterable[str]) -> list[str]:
    return [line for s in sentences for line in textwrap.wrap(s, 120, initial_indent="  ", subsequent_indent="    ")]
