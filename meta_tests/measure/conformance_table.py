"""Format the table of what the backends reach, from the entries that `python -m meta_tests.measure.conformance` writes."""

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


def format_cell(cell: Entry) -> str:
    """Return a cell as the legend explains it."""
    if not cell or cell["broken"]:
        return f"!{len(cell['broken'])}" if cell else "·"
    letter = {"exact": "x"}.get(cell["class"], (cell["class"] or "?")[0])
    shares = [cell[name] for name in ("worst", "median") if cell.get(name) is not None]
    return letter if letter == "x" else letter + "/".join(f"{100 * share:.0f}" for share in shares)


def format_row(entry: Entry, operation: str) -> list[str]:
    """Return the operation's four columns, one for each dtype."""
    if operation not in entry["cells"]:
        return [""] * len(COLUMNS)
    cells = {dtype if dtype in COLUMNS else "float64": cell for dtype, cell in entry["cells"][operation].items()}
    if not any(cells.values()):
        return ["·", "", "", ""]
    return [format_cell(cells[dtype]) if dtype in cells else "" for dtype in COLUMNS]


def _format_line(start: str, columns: list[str], width: int) -> str:
    return (f"{start:<34}" + "".join(f"{column:<{width - 1}} " for column in columns)).rstrip()


def _describe_run(run: Entry) -> str:
    shapes = describe_shapes(run.get("shapes"))
    return f"{run['effort']} effort, {run['examples']} examples in {run['seconds'] / 60:.0f} min{shapes}"


def format_table(entries: dict[str, Entry]) -> Iterator[str]:
    present = {name: entry for name, entry in sorted(entries.items()) if "cells" in entry}
    operations = list(dict.fromkeys(operation for entry in present.values() for operation in entry["cells"]))
    for number, (name, entry) in enumerate(present.items(), 1):
        implemented = {operation for operation, cells in entry["cells"].items() if any(cells.values())}
        tried_again = {operation for again in entry.get("again", ()) for operation in again["operations"]}
        first_run = _describe_run(entry) if implemented - tried_again else ""  # empty if later runs have replaced all its cells
        yield f"{number:>2}  {name:<27} {entry['version']:<47} {first_run}".rstrip()
        for again in entry.get("again", ()):
            version = "" if again["version"] == entry["version"] else f"{again['version']}, "
            yield from textwrap.wrap(
                f"{', '.join(again['operations'])}: {version}{_describe_run(again)}",
                125,
                initial_indent=" " * 6,
                subsequent_indent=" " * 6,
            )
    yield from LEGEND.splitlines()
    yield ""
    yield _format_line("", [str(number) for number in range(1, len(present) + 1)], 6)
    for operation in operations:
        letters = ["".join(text[:1] or " " for text in format_row(entry, operation)) for entry in present.values()]
        yield _format_line(operation, letters, 6)
    dtypes = "".join(f"{column:<7}" for column in COLUMNS.values())
    for names in (list(present)[i : i + 3] for i in range(0, len(present), 3)):
        yield from ("", _format_line("", names, 30), _format_line("", [dtypes] * len(names), 30))
        for operation in operations:
            rows = ["".join(f"{text:<7}" for text in format_row(present[name], operation)) for name in names]
            if any(text.strip(" ·") for text in rows):
                yield _format_line(operation, rows, 30)
    absent = (f"  {name:<27} {entry['absent']}" for name, entry in sorted(entries.items()) if "absent" in entry)
    yield from ("", "deviates:", *list_failures(present), "", "absent where this was run:", *absent)


def count_broken(entry: Entry) -> int:
    """Return how many laws are broken, counted in each operation and dtype."""
    return sum(len(cell.get("broken", ())) for cells in entry["cells"].values() for cell in cells.values())


def list_failures(entries: dict[str, Entry]) -> Iterator[str]:
    """Yield a line for each set of broken laws, and the findings in the documentation that explain it."""
    for name, operation, cells in ((name, *pair) for name, entry in entries.items() for pair in entry.get("cells", {}).items()):
        sharing: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for dtype, cell in cells.items():
            if cell.get("broken"):
                sharing[tuple(cell["broken"])].append(dtype)
        for laws, dtypes in sharing.items():
            line = f"  {name}: {operation} in {', '.join(dtypes)}: {', '.join(laws)}"
            yield from textwrap.wrap(line, 125, subsequent_indent="      ")
        broken = {dtype: set(cell["broken"]) for dtype, cell in cells.items() if cell.get("broken")}
        backend = name.partition(" (")[0]
        findings = {dtype: find_findings(backend, operation, laws, dtype) for dtype, laws in broken.items()}
        yield from (f"    → {title}" for title in dict.fromkeys(chain.from_iterable(findings.values())))
        yield from (f"    → not among the findings: {dtype}" for dtype, found in findings.items() if not found)


def find_findings(backend: str, operation: str, laws: set[str], dtype: str) -> list[str]:
    """Return the sections about this backend that explain one of the broken laws in this dtype.

    A section names the invariant in its text, and the dtype, or "all dtypes", in brackets at the end of its title. If a page is
    about several backends, a title may name those that it concerns.
    """
    found = []
    for page in sorted(FINDINGS.glob("*.md")):
        introduction, *sections = page.read_text().split("\n## ")
        if re.search(rf"`{backend}`|--backend={backend}`", introduction):
            backends = re.findall(r"--backend=([\w-]+)", introduction)
            for title, _, text in (section.partition("\n") for section in sections):
                named = [name for name in backends if f"`{name}`" in title]
                in_dtype = re.search(rf"\(.*\b(all dtypes|{dtype})\b.*\)$", title)
                if in_dtype and backend in (named or [backend]) and any(f"`{operation}.{law}`" in text for law in laws):
                    found.append(f"findings/{page.stem}: {title}")
    return found
