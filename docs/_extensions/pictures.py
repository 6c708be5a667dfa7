"""A Sphinx extension: `{picture} <name> [<argument>]` draws docs/pictures/<name>.py while the site is built.

Such a file has `draw(figure, …)`, which draws on a figure of Matplotlib and returns a description in words, or `write(…)`, which
returns a Drawing. The picture becomes part of the page as SVG, so that its text has the page's font and the colour of the light
or the dark theme.
"""

from __future__ import annotations

import html
import importlib.util
import io
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib
from docutils import nodes
from matplotlib.figure import Figure
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).parent.parent / "pictures"
TEXT_COLOUR = "#010203"  # of text and lines; replaced by the page's own colour
STYLE = {
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "axes.titlecolor"), TEXT_COLOUR
    ),
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "spec_tests",  # the same picture has the same bytes
    "font.size": 9,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "legend.frameon": False,
}


@cache
def import_picture(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"picture_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def render(name: str, *arguments: str) -> str:
    """Draw a picture and return its SVG for a page."""
    if hasattr(picture := import_picture(name), "write"):
        return str(picture.write(*arguments).to_svg())
    with matplotlib.rc_context(STYLE):
        figure = Figure(layout="constrained")
        description = picture.draw(figure, *arguments)
        figure.savefig(out := io.StringIO(), format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].replace(TEXT_COLOUR, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    prefix = re.sub(r"\W", "-", "-".join((name, *arguments)))
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", svg)  # ids must be unique on a page with several pictures
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)
    width, height = figure.get_size_inches() * 72
    size = f'viewBox="0 0 {width:g} {height:g}" style="max-width: {width * 4 / 3:.0f}px"'
    head = f'<svg role="img" aria-label="{html.escape(description, quote=True)}" {size}'
    return re.sub(r"<svg[^>]*?(?= xmlns)", head, svg, count=1).replace(' version="1.1"', "", 1)


class Picture(SphinxDirective):
    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        self.env.note_dependency(str(FOLDER / f"{name}.py"))
        figure = f'<figure class="picture">{render(*self.arguments)}</figure>'
        return [nodes.raw("", figure, format="html")]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
