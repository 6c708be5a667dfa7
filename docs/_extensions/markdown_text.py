"""Text for the pages that the extensions write: plain text and source code as Markdown."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any


def escape_markdown(text: str) -> str:
    """Escape plain text for Markdown. What stands between backticks stays code."""
    parts = re.split(r"(`[^`|]+`)", text)
    return "".join(part if i % 2 else re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", part) for i, part in enumerate(parts))


def join_lines(text: str) -> str:
    """Return a paragraph of plain text as one line of Markdown."""
    return escape_markdown(" ".join(text.split()))


def make_label(name: str) -> str:
    """Return the target of a law's or a deviation's section."""
    return re.sub(r"[^a-z0-9_]+", "-", name)


def source_without_docstring(function: Callable[..., Any]) -> str:
    """Return the lines of a function without its docstring and its decorators."""
    code = inspect.unwrap(function).__code__
    lines, functions = _read_functions(code.co_filename)
    node = functions[code.co_firstlineno]
    first = node.body[0]
    start = first.end_lineno if ast.get_docstring(node) and first.end_lineno else first.lineno - 1
    return textwrap.dedent("\n".join([*lines[node.lineno - 1 : first.lineno - 1], *lines[start : node.end_lineno]]))


@cache
def _read_functions(path: str) -> tuple[list[str], dict[int, ast.FunctionDef]]:
    """Return the lines of a file, and its functions by the first line of each, which is that of a decorator if it has one."""
    text = Path(path).read_text(encoding="utf-8")
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return text.splitlines(), {min([node.lineno, *(x.lineno for x in node.decorator_list)]): node for node in found}


AT_THE_TOP = ("Shapes", "Dtypes")  # sections that a page begins with


def find_section(docstring: str, title: str) -> str:
    """Return the text of a docstring's section as it is written, "" if the docstring has none."""
    found = re.search(rf"^{title}\n((?:    .*\n)+)", docstring + "\n", re.MULTILINE)
    return textwrap.dedent(found[1]).strip() if found else ""


def format_docstring(text: str) -> Iterator[str]:
    """Yield, in Markdown, the sections and examples of a reference's docstring, given without its first line."""
    _, *sections = re.split(r"^(?=[A-Z][a-z]+\n    )", text.strip("\n"), flags=re.MULTILINE)
    for section in sections:
        title, _, content = section.partition("\n")
        inside = re.match(r"(?:    [^\n]*\n?|\n)*", content)[0]  # type: ignore[index]
        outside, inside = content[len(inside) :], textwrap.dedent(inside).strip()
        if title not in AT_THE_TOP:
            yield from (f"**{title}.** {join_lines(inside)}", "")
        for paragraph in filter(None, re.split(r"\n\n+", outside.strip())):
            example = paragraph.startswith(">>>")
            yield from (("```pycon", paragraph, "```", "") if example else (join_lines(paragraph), ""))
