"""A Sphinx extension: mathematics as MathML, which browsers draw themselves; docutils, which Sphinx is made of, converts it.

Sphinx's own renderers need a script from the network, or LaTeX.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOG = logging.getLogger(__name__)


def inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(converted(node, block=False))
    raise nodes.SkipNode


def displayed(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{converted(node, block=True)}</div>\n')
    raise nodes.SkipNode


def converted(node: nodes.Element, *, block: bool) -> str:
    """On one line, which is how a browser copies it; a bar is told on which side of its content it stands."""
    try:
        lines = tex2mathml(node.astext(), as_block=block).splitlines()
    except MathError as error:
        LOG.warning("%s: %s", node.astext(), error, location=node)
        return ""
    joined = "".join(line.strip() for line in lines)
    joined = re.sub(r'<mo class="mathopen">([|‖])</mo>', r'<mo form="prefix" stretchy="false">\1</mo>', joined)
    return re.sub(r"<mo>([|‖])</mo>", r'<mo form="postfix" stretchy="false">\1</mo>', joined)


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
