"""A Sphinx extension that makes the navigation of each folder once, and then marks in it the page that is shown.

Otherwise the whole tree is made again for each page, which takes a fifth of the time in which the site is built.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from docutils import nodes
from sphinx.environment.adapters.toctree import global_toctree_for_doc

TAG = re.compile(r'<ul>|</ul>|<li class="([^"]*)">|</li>|<a class="reference internal" href="([^"]*)">')
NO_PAGE = "_"  # the name of a page that no folder has


@cache
def make_navigation(app: Any, folder: str, options: tuple[tuple[str, Any], ...]) -> str:
    """Return the navigation as a page of the folder has it, without a mark of any page."""
    tree = global_toctree_for_doc(app.env, folder + NO_PAGE, app.builder, tags=app.tags, **dict(options))
    return str(app.builder.render_partial(tree)["fragment"])


def mark_page(navigation: str, address: str) -> str:
    """Return the navigation with the page of that address, and what it is below, marked as Sphinx marks the current one."""
    above, marked = list[re.Match[str]](), dict[int, str]()
    for tag in TAG.finditer(navigation):
        if tag[0].startswith("</"):
            above.pop()
        elif not tag[0].startswith("<a"):
            above.append(tag)
        elif tag[2] == address:
            marked |= {
                outer.start(): f'<li class="{outer[1]} current">' if outer[1] else '<ul class="current">' for outer in above
            }
            marked[tag.start()] = '<a class="current reference internal" href="#">'
    return TAG.sub(lambda tag: marked.get(tag.start(), tag[0]), navigation)


def share_navigation(app: Any, pagename: str, _: str, context: dict[str, Any], __: nodes.document | None) -> None:
    """Give a page the navigation of its folder."""
    folder = pagename[: pagename.rfind("/") + 1]

    def toctree(**options: Any) -> str:
        navigation = make_navigation(app, folder, tuple(options.items()))
        return mark_page(navigation, app.builder.get_relative_uri(folder + NO_PAGE, pagename))

    if "toctree" in context:
        context["toctree"] = toctree


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", share_navigation, priority=400)  # before the theme's
    return {"parallel_read_safe": True, "parallel_write_safe": True}
