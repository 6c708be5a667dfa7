"""The table of what the backends reach, made of their entries: those that `python -m meta_tests.measure.conformance` writes."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import Any

from spec_tests.inputs.effort import describe_shapes

from ..support.paths import ROOT

Entry = dict[str, Any]
FINDINGS = ROOT / "docs" / "findings"
COLUMNS = {"float64": "f64", "float32": "f32", "bfloat16": "bf16", "float16": "f16"}
LEGEND = """
Four characters, or columns, for float64, float32, bfloat16, float16; masks and counts have the first one alone.
f, m, e: conforms, in the precision class fused, mixed or eager; x: exactly. The numbers are the largest and the median
share of the allowed error that an example used, in percent. !: deviates, with the number of invariants that are broken.
·: not implemented. Blank: not taken in that dtype, or not tried. ?: its laws hold, and the equation could not be tried.
"""


def written(cell: Entry) -> str:
    if not cell or cell["broken"]:
        return f"!{len(cell['broken'])}" if cell else "·"
    letter = {"exact": "x"}.get(cell["class"], (cell["class"] or "?")[0])
    shares = [cell[name] for name in ("worst", "median") if cell.get(name) is not None]
    return letter if letter == "x" else letter + "/".join(f"{100 * share:.0f}" for share in shares)


def row(entry: Entry, operation: str) -> list[str]:
    """Four columns."""
    if operation not in entry["cells"]:
        return [""] * len(COLUMNS)
    own = {dtype if dtype in COLUMNS else "float64": cell for dtype, cell in entry["cells"][operation].items()}
    return [written(own[dtype]) if dtype in own else "" for dtype in COLUMNS] if any(own.values()) else ["·", "", "", ""]


def _line(start: str, columns: list[str], width: int) -> str:
    return (f"{start:<34}" + "".join(f"{column:<{width - 1}} " for column in columns)).rstrip()


def _how(run: Entry) -> str:
    few = describe_shapes(run.get("shapes"))
    return f"{run['effort']} effort, {run['examples']} examples in {run['seconds'] / 60:.0f} min{few}"


def table(entries: dict[str, Entry]) -> Iterator[str]:
    present = {name: entry for name, entry in sorted(entries.items()) if "cells" in entry}
    subjects = list(dict.fromkeys(subject for entry in present.values() for subject in entry["cells"]))
    for number, (name, entry) in enumerate(present.items(), 1):
        implemented = {operation for operation, own in entry["cells"].items() if any(own.values())}
        tried_again = {operation for again in entry.get("again", ()) for operation in again["operations"]}
        how = _how(entry) if implemented - tried_again else ""  # of the first run nothing is left
        yield f"{number:>2}  {name:<27} {entry['version']:<47} {how}".rstrip()
        for again in entry.get("again", ()):
            version = "" if again["version"] == entry["version"] else f"{again['version']}, "
            yield from textwrap.wrap(
                f"{', '.join(again['operations'])}: {version}{_how(again)}",
                125,
                initial_indent=" " * 6,
                subsequent_indent=" " * 6,
            )
    yield from LEGEND.splitlines()
    yield ""
    yield _line("", [str(number) for number in range(1, len(present) + 1)], 6)
    for operation in subjects:
        yield _line(operation, ["".join(t[:1] or " " for t in row(entry, operation)) for entry in present.values()], 6)
    for names in (list(present)[i : i + 3] for i in range(0, len(present), 3)):
        yield from ("", _line("", names, 30), _line("", ["".join(f"{c:<7}" for c in COLUMNS.values())] * len(names), 30))
        for operation in subjects:
            rows = ["".join(f"{text:<7}" for text in row(present[name], operation)) for name in names]
            if any(text.strip(" ·") for text in rows):
                yield _line(operation, rows, 30)
    absent = (f"  {name:<27} {entry['absent']}" for name, entry in sorted(entries.items()) if "absent" in entry)
    yield from ("", "deviates:", *deviations(present), "", "absent where this was run:", *absent)


def broken(entry: Entry) -> int:
    """How many laws, each in each operation and dtype."""
    return sum(len(cell.get("broken", ())) for own in entry["cells"].values() for cell in own.values())


def deviations(entries: dict[str, Entry]) -> Iterator[str]:
    """What is broken where, and the findings that say why."""
    for name, operation, own in ((name, *pair) for name, entry in entries.items() for pair in entry.get("cells", {}).items()):
        sharing: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for dtype, cell in own.items():
            if cell.get("broken"):
                sharing[tuple(cell["broken"])].append(dtype)
        for laws, dtypes in sharing.items():
            line = f"  {name}: {operation} in {', '.join(dtypes)}: {', '.join(laws)}"
            yield from textwrap.wrap(line, 125, subsequent_indent="      ")
        deviating = {dtype: set(cell["broken"]) for dtype, cell in own.items() if cell.get("broken")}
        why = {dtype: findings(name.partition(" (")[0], operation, laws, dtype) for dtype, laws in deviating.items()}
        yield from (f"    → {title}" for title in dict.fromkeys(chain.from_iterable(why.values())))
        yield from (f"    → not among the findings: {dtype}" for dtype, found in why.items() if not found)


def findings(backend: str, operation: str, laws: set[str], dtype: str) -> list[str]:
    """The sections about this backend that name one of the invariants, and at the title's end the dtype, or all. Of a page about
    several backends, a title may name one."""
    found = []
    for page in sorted(FINDINGS.glob("*.md")):
        introduction, *sections = page.read_text().split("\n## ")
        if re.search(rf"`{backend}`|--backend={backend}`", introduction):
            about = re.findall(r"--backend=([\w-]+)", introduction)
            for title, _, text in (section.partition("\n") for section in sections):
                named = [name for name in about if f"`{name}`" in title]
                held = re.search(rf"\(.*\b(all dtypes|{dtype})\b.*\)$", title)
                if held and backend in (named or [backend]) and any(f"`{operation}.{law}`" in text for law in laws):
                    found.append(f"findings/{page.stem}: {title}")
    return found
