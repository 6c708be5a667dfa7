"""A Sphinx extension that folds a part of a section: a line `% folded: SUMMARY` folds what follows it in its section.

A click on the summary unfolds it. folded.js unfolds what a link leads to, for browsers that do not.
"""

from __future__ import annotations

import html
from typing import Any

from docutils import nodes

MARK = "folded:"


def fold(summary: str) -> str:
    """Return the line of Markdown that folds what follows it in its section."""
    return f"% {MARK} {summary}"


def fold_sections(app: Any, doctree: nodes.document, _: str) -> None:
    """Put what follows each mark into a <details> element. Tables of contents are made before, so they keep the headings."""
    if app.builder.format != "html":
        return
    for mark in list(doctree.findall(nodes.comment)):
        keyword, _, summary = mark.astext().partition(" ")
        if keyword != MARK or not isinstance(section := mark.parent, nodes.section):
            continue
        start = section.index(mark)
        followers = section.children[start + 1 :]
        head = f'<details class="folded"><summary>{html.escape(summary.strip())}</summary>'
        section.children[start:] = []
        section.extend([nodes.raw("", head, format="html"), *followers, nodes.raw("", "</details>", format="html")])


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-resolved", fold_sections)
    app.add_js_file("folded.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
