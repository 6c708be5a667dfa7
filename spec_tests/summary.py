"""The table at the end of a run: which precision class each operation reached in each dtype, and how near the limit."""

from __future__ import annotations

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from . import SPEC_VERSION, __version__
from .effort import current, of_so_many_shapes, shapes
from .message import NAMED
from .trial import REFUSED, UNCALLED

ORACLE = "it has imported the oracle (reference_numpy): what conforms may be the suite's own equations"
HELD = "laws hold"  # where the comparison with the oracle was not among what ran
FEWEST = 99  # after all that have candidates
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
    few = of_so_many_shapes(shapes())
    terminal.write_line(f"spec_tests {__version__}, spec {SPEC_VERSION}, effort {current().name}{few}, {examples} examples{note}")


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
    return detail or HELD


def remarks(verdicts: list[dict[str, Any]]) -> list[str]:
    parts = {
        "deviates:": wrong(verdicts),
        "fails nothing, because a file says that it is known:": tolerated(verdicts),
        "tried within the domain that it states:": restricted(verdicts),
        "not tried:": not_tried(verdicts),
        "judged by itself:": [ORACLE] * any(v.get("oracle") for v in verdicts),
    }
    lines = [line for title, found in parts.items() if found for line in ("", title, *_wrapped(found))]
    if kept := levels(verdicts):
        lines += ["", "levels: " + ", ".join(f"{level} {held} of {tried}" for level, (held, tried) in kept.items())]
    return lines


@dataclass
class Bug:
    """Failures of one operation that one known deviation explains; those that none explains stand beside them."""

    operation: str
    candidates: list[str]  # in words, each with its id; none, if nothing is known that explains it
    verdicts: list[dict[str, Any]]

    @property
    def laws(self) -> list[str]:
        return list(dict.fromkeys(v["id"].partition(".")[2] for v in self.verdicts))

    @property
    def dtypes(self) -> list[str]:
        return [dtype for dtype in DTYPES if any(v["dtype"] == dtype for v in self.verdicts)]


def bugs(verdicts: list[dict[str, Any]]) -> list[Bug]:
    """What one example leaves open (this deviation or that) the others settle. The named ones come first."""
    found: dict[str, list[Bug]] = defaultdict(list)
    for v in sorted((v for v in verdicts if v["status"] == "failed"), key=lambda v: len(_candidates(v)) or FEWEST):
        candidates, own = _candidates(v), found[v["operation"]]
        bug = next((bug for bug in own if set(bug.candidates) & set(candidates) or not candidates), None)
        if bug is None:
            own.append(Bug(v["operation"], candidates, [v]))
        else:
            bug.verdicts.append(v)
    return sorted((bug for own in found.values() for bug in own), key=lambda bug: (not bug.candidates, bug.operation))


def _candidates(verdict: dict[str, Any]) -> list[str]:
    said = verdict["reason"]
    return re.split(r"(?<=\)) or ", said.removeprefix(NAMED)) if said.startswith(NAMED) else []


def wrong(verdicts: list[dict[str, Any]]) -> list[str]:
    return [_told(bug) for bug in bugs(verdicts)]


def _told(bug: Bug) -> str:
    more = f" and {len(bug.laws) - 3} more" if len(bug.laws) > 4 else ""
    laws = ", ".join(bug.laws[:3] if more else bug.laws) + more
    said = f" {NAMED}{' or '.join(bug.candidates)};" if bug.candidates else ":"
    return f"{bug.operation}{said} breaks {laws} in {', '.join(bug.dtypes)}"


def tolerated(verdicts: list[dict[str, Any]]) -> list[str]:
    kinds: dict[str, list[str]] = defaultdict(list)
    for v in verdicts:
        if v.get("known"):
            kinds[v["known"]].append(f"{v['id']} in {v['dtype']}")
    return [f"{kind}: {', '.join(found)}" for kind, found in kinds.items()]


def restricted(verdicts: list[dict[str, Any]]) -> list[str]:
    domains: dict[str, set[str]] = defaultdict(set)
    for v in verdicts:
        if v["domain"] and v["examples"]:
            domains[v["domain"]].add(v["operation"])
    return sorted(f"{', '.join(sorted(operations))}: {domain}" for domain, operations in domains.items())


def levels(verdicts: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """How often each level held, of how many times that it was tried."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for v in verdicts:
        if v["level"] and v["status"] in ("passed", "not held", "failed"):
            counts[v["level"]].update([v["status"]])
    return {level: (count["passed"], count.total()) for level, count in sorted(counts.items())}


def not_tried(verdicts: list[dict[str, Any]]) -> list[str]:
    """One sentence for all operations that share a reason."""
    sharing: dict[str, set[str]] = defaultdict(set)
    for v in verdicts:
        if v["status"] != "skipped":
            continue
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
