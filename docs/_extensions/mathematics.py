"""A Sphinx extension that writes mathematics as MathML, which browsers display by themselves. docutils converts it from LaTeX.

Sphinx's own renderers need a script from the network or a LaTeX installation.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOG = logging.getLogger(__name__)


def visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(convert(node, block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{convert(node, block=True)}</div>\n')
    raise nodes.SkipNode


def convert(node: nodes.Element, *, block: bool) -> str:
    """Return the formula as MathML on one line, because browsers copy line breaks too.

    Bars are marked as opening or closing, so that the browser spaces them correctly.
    """
    try:
        lines = tex2mathml(node.astext(), as_block=block).splitlines()
    except MathError as error:
        LOG.warning("%s: %s", node.astext(), error, location=node)
        return ""
    joined = "".join(line.strip() for line in lines)
    joined = re.sub(r'<mo class="mathopen">([|‖])</mo>', r'<mo form="prefix" stretchy="false">\1</mo>', joined)
    return re.sub(r"<mo>([|‖])</mo>", r'<mo form="postfix" stretchy="false">\1</mo>', joined)


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
