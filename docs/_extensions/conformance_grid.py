"""A Sphinx extension: `{conformance-grid}` shows docs/measured/conformance.json as a table of backends and operations.

A cell has a small square for each dtype, which links to the finding if the operation deviates. conformance.js sorts and searches.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from mdit_py_plugins.anchors.index import slugify
from sphinx.util.docutils import SphinxDirective

from meta_tests.measure.conformance import CONFORMANCE_JSON
from meta_tests.measure.conformance_table import Entry, count_broken, find_findings
from meta_tests.support.provenance import Provenance, read_record

DTYPES = {"float64": "64", "float32": "32", "bfloat16": "b16", "float16": "16"}
WORDS = {"f": "conforms, class fused", "m": "conforms, class mixed", "e": "conforms, class eager", "x": "exact"}
RANKS = {"!": 0, "?": 1, "m": 3, "e": 2, "f": 4, "x": 4, "": 5}  # by which a click on an operation sorts: deviations first


def describe_cell(cell: Entry) -> tuple[str, str]:
    """Return the state of a cell in one character, and in words."""
    if not cell:
        return "", "not implemented"
    if cell["broken"]:
        return "!", f"deviates: {', '.join(cell['broken'])}"
    state = "x" if cell["class"] == "exact" else (cell["class"] or "?")[0]
    share = f"; largest share of the allowed error {cell['worst']:.2f}" if cell.get("worst") is not None else ""
    return state, f"{WORDS.get(state, 'the laws that could be tried hold')}{share}"


def find_link(backend: str, operation: str, dtype: str, cell: Entry) -> str:
    """Return the address of the finding that explains a deviation, "" if there is none."""
    found = find_findings(backend.partition(" (")[0], operation, set(cell.get("broken", ())), dtype) if cell else []
    page, _, title = found[0].partition(": ") if found else ("", "", "")
    return f"{page}.html#{slugify(title.replace('`', ''))}" if found else ""


def write_squares(backend: str, operation: str, cells: Entry) -> tuple[str, int]:
    """Return the squares of a cell of the table as HTML, and the rank of the worst of them."""
    squares, ranks = [], []
    for dtype, cell in cells.items():
        state, words = describe_cell(cell)
        if not state:
            continue
        ranks.append(RANKS[state])
        label = html.escape(f"{backend}, {operation}, {dtype}: {words}")
        text = f'class="dtype {STATES[state]}" title="{label}" aria-label="{label}"'
        link, name = find_link(backend, operation, dtype, cell), DTYPES.get(dtype, "✓")
        squares.append(f'<a href="{html.escape(link)}" {text}>{name}</a>' if link else f'<span {text} role="img">{name}</span>')
    return "".join(squares), min(ranks, default=RANKS[""])


STATES = {"!": "deviates", "?": "unclaimed", "f": "fused", "m": "mixed", "e": "eager", "x": "exact"}


def describe_run(entry: Entry, provenance: Provenance | None) -> str:
    """Return how a backend was run: the effort, the number of examples, the date, and the commit of the suite."""
    shapes = f", {entry['shapes']} shapes" if entry.get("shapes") else ""
    date = f", {entry['date']}" if entry.get("date") else ""
    commit = f", at {provenance.commit}" if provenance else ""
    return f"{entry['effort']} effort{shapes}, {entry['examples']} examples{date}{commit}"


def write_grid(entries: dict[str, Entry]) -> Iterator[str]:
    """Yield the lines of the table as HTML."""
    record = read_record()
    present = {name: entry for name, entry in sorted(entries.items()) if "cells" in entry}
    operations = list(dict.fromkeys(operation for entry in present.values() for operation in entry["cells"]))
    yield '<p><label>Search a library or an operation: <input type="search" id="conformance-search"></label></p>'
    yield '<div class="conformance"><table id="conformance"><thead><tr>'
    yield "".join(f'<th scope="col"><button type="button">{title}</button></th>' for title in ("library", "failures"))
    yield "".join(f'<th scope="col" data-operation="{name}"><button type="button">{name}</button></th>' for name in operations)
    yield "</tr></thead><tbody>"
    for name, entry in present.items():
        run = describe_run(entry, record.get(f"{CONFORMANCE_JSON.name} {name}"))
        about = f"<small>{html.escape(entry['version'])}<br>{run}</small>"
        start = f'<th scope="row" data-sort="{name}">{name}{about}</th>'
        count = count_broken(entry)
        cells = [write_squares(name, operation, entry["cells"].get(operation, {})) for operation in operations]
        columns = (
            f'<td data-sort="{rank}" data-operation="{operation}">{squares}</td>'
            for operation, (squares, rank) in zip(operations, cells, strict=True)
        )
        yield f'<tr>{start}<td data-sort="{-count}">{count}</td>{"".join(columns)}</tr>'
    yield "</tbody></table></div>"


class ConformanceGrid(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(CONFORMANCE_JSON))
        entries = json.loads(CONFORMANCE_JSON.read_text(encoding="utf-8"))
        return [nodes.raw("", "\n".join(write_grid(entries)), format="html")]


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("conformance-grid", ConformanceGrid)
    app.add_js_file("conformance.js", loading_method="defer")
    return {"parallel_read_safe": True}
