"""A Sphinx extension: names in tables and links, such as `rope.scale_of_queries`, break at underscores, dots and slashes."""

from __future__ import annotations

import re
from typing import Any

NAME = re.compile(r'(?<=<span class="pre">)[^<]*[\w.]{2,}[_./][^<]*(?=</span>)')
CELL = re.compile(r"<t[dh]\b.*?</t[dh]>", re.DOTALL)
LINK = re.compile(r'(?<=<a class="reference internal" href="#)([^"]*">(?:<span class="std std-ref">)?)([^<]*_[^<]*)')


def let_names_break(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Mark where a browser may break the names of a page, in the cells of its tables and in the links to its own sections."""
    if body := context.get("body"):
        body = CELL.sub(lambda cell: NAME.sub(lambda name: _mark(name[0]), cell[0]), body)
        context["body"] = LINK.sub(lambda link: link[1] + _mark(link[2]), body)


def _mark(name: str) -> str:
    return re.sub(r"(?<=[_/])(?=\w)|(?<=\w)(?=\.\w)", "<wbr>", name)


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", let_names_break)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
