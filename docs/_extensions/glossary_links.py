"""A Sphinx extension that links the first use of each term on a page to its definition in the glossary.

It links the terms that mean something of this project's own. Words that mean what a reader expects, such as "call" or "example",
would be a link on every page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from types import MappingProxyType
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

GLOSSARY = "glossary"  # the page that defines the terms
REGULAR = (
    "backend", "oracle", "invariant", "law", "trial", "example row", "error bound", "regime", "deviation", "effort", "domain",
    "optional variant", "convention", "isolation", "cotangent",
)  # fmt: skip
PATTERNS = MappingProxyType(
    {
        **{term: rf"{term}s?" for term in REGULAR},
        "level": r"(?<!top )levels?(?! with)",
        "precision class": "precision class(?:es)?",
        "share": r"shares?(?= of the (?:allowed )?(?:error|bound))",
    }
)
LINKED = {
    term: re.compile(rf"\b(?:{pattern})\b".replace(" ", r"\s"), re.IGNORECASE) for term, pattern in PATTERNS.items()
}  # a blank may be the end of a line
NOT_WITHIN = (nodes.title, nodes.reference, nodes.literal, nodes.FixedTextElement, nodes.raw, nodes.math, addnodes.pending_xref)


class LinkTerms(SphinxTransform):
    default_priority = 700  # when the page is read: its links are resolved later, with all others

    def apply(self, **_: Any) -> None:
        if self.env.docname == GLOSSARY:
            return
        left = dict(LINKED)
        for parent in dict.fromkeys(text.parent for text in self.document.findall(nodes.Text)):
            if not isinstance(parent, NOT_WITHIN) and not _is_within(parent, NOT_WITHIN):
                parent.children = [part for child in _join_lines(parent) for part in _link_first_uses(child, left)]
                for child in parent.children:
                    child.parent = parent


def _is_within(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    while (node := node.parent) is not None:
        if isinstance(node, kinds):
            return True
    return False


def _join_lines(parent: nodes.Element) -> Iterator[nodes.Node]:
    """Yield the children, with neighbouring texts as one: the parser makes one of each line."""
    for are_texts, children in groupby(parent.children, lambda child: isinstance(child, nodes.Text)):
        if are_texts:
            yield nodes.Text("".join(map(str, children)))
        else:
            yield from children


def _link_first_uses(child: nodes.Node, left: dict[str, re.Pattern[str]]) -> Iterator[nodes.Node]:
    """Yield a text in parts, with links at the first uses of the terms that are left, and remove these terms."""
    if not isinstance(child, nodes.Text):
        yield child
        return
    text = str(child)
    found = [(match.start(), -match.end(), term) for term, pattern in left.items() if (match := pattern.search(text))]
    done = 0
    for start, minus_end, term in sorted(found):
        if start < done:  # within a longer term
            continue
        del left[term]
        if start > done:
            yield nodes.Text(text[done:start])
        yield _make_link(term, text[start:-minus_end])
        done = -minus_end
    if done < len(text):
        yield nodes.Text(text[done:])


def _make_link(term: str, text: str) -> nodes.Node:
    content = nodes.inline(text, text, classes=["xref", "std", "std-term"])
    target = {"refdomain": "std", "reftype": "term", "reftarget": term, "refexplicit": True, "refwarn": True}
    return addnodes.pending_xref("", content, **target)


def setup(app: Any) -> dict[str, bool]:
    app.add_transform(LinkTerms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
