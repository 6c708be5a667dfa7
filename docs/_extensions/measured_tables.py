"""A Sphinx extension: `{measured} FILE` shows a text of docs/measured, with its columns as tables and its other lines as prose.

The commands that measure write such texts for a terminal: columns stand below a ruler of dashes, or are apart by two blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

RULER = re.compile(r"-{2,}(?: +-{2,})*")
GAP = re.compile(r"(?<! of)\s{2,}")
NUMBER = re.compile(r"[-+]?[\d.]+(?:e[-+]?\d+)?(?: ?(?:%|s|ms|KiB|MiB|MB))?")
NAME = re.compile(r"[\w.-]+/[\w./-]+|\w+\.\w+|\w+_\w+")  # of a bug, a law, an operation or a file


@dataclass(frozen=True)
class Table:
    head: list[str]  # empty without one
    rows: list[list[str]]


@dataclass(frozen=True)
class Prose:
    lines: list[tuple[int, str]]  # each with its indentation


def read_parts(text: str) -> Iterator[Table | Prose]:
    """Yield the tables of a text, and the lines between them."""
    for has_text, block in groupby(text.splitlines(), key=lambda line: bool(line.strip())):
        if has_text:
            yield from _read_block(list(block))


def _read_block(lines: list[str]) -> Iterator[Table | Prose]:
    """Yield the parts of lines between two empty ones."""
    if lines[0].startswith("| "):
        head, _, *rows = ([cell.strip().replace("`", "") for cell in line.strip("| ").split(" | ")] for line in lines)
        yield Table(head, rows)
        return
    ruler = next((n for n, line in enumerate(lines) if RULER.fullmatch(line.strip())), None)
    if ruler is not None:
        spans = [match.span() for match in re.finditer("-+", lines[ruler])]
        heads = zip(*(_cut(line, spans) for line in lines[:ruler]), strict=True)
        yield Table([_join(words) for words in heads], [_cut(line, spans) for line in lines[ruler + 1 :]])
        return
    prose: list[tuple[int, str]] = []
    for is_columns, run in groupby(lines, key=lambda line: len(_split(line)) > 1):
        found = list(run)
        if is_columns and len(found) > 1 and (table := _read_columns(found)):
            if prose:
                yield Prose(prose)
            prose = []
            yield table
        else:
            prose += [(len(line) - len(line.lstrip()), " ".join(line.split())) for line in found]
    if prose:
        yield Prose(prose)


def _split(line: str) -> list[str]:
    """Return the fields of a line: those apart by two blanks, or names alone."""
    fields, words = GAP.split(line.strip()), line.split()
    return words if len(words) == 2 and all(map(NAME.fullmatch, words)) else fields


def _join(words: tuple[str, ...]) -> str:
    """Return the words of a head that stand below each other, without the hyphens where one was divided."""
    return re.sub(r"(?<=[a-z])- ", "", " ".join(filter(None, words)))


def _cut(line: str, spans: list[tuple[int, int]]) -> list[str]:
    """Return the cells of a line, given where the columns are. What stands between two columns belongs to the one before."""
    starts = [0, *(start for start, _ in spans[1:]), None]
    return [line[start:end].strip() for start, end in pairwise(starts)]


def _read_columns(lines: list[str]) -> Table | None:
    """Return the table of lines whose columns are apart by two blanks in every line; None if there is one column."""
    rows = [_split(line) for line in lines]
    if len({len(row) for row in rows}) > 1:
        width = max(map(len, lines))
        used = "".join(" " if all(line[i : i + 1] in ("", " ") for line in lines) else "x" for i in range(width))
        spans = [match.span() for match in re.finditer(r"x(?:x| (?=x))*", used)]
        rows = [[" ".join(line[start:end].split()) for start, end in spans] for line in lines]
    first, *others = rows
    if len(first) < 2:
        return None
    is_head = len(others) > 1 and any(
        not NUMBER.fullmatch(head) and all(map(NUMBER.fullmatch, filter(None, column)))
        for head, *column in zip(first, *others, strict=True)
        if head and any(column)
    )
    return Table(first, others) if is_head else Table([], [first, *others])


# --- the page ---------------------------------------------------------------------------------------------------------


def write_table(table: Table) -> nodes.table:
    columns = list(zip(*table.rows, strict=True))
    classes = ["measured-number" if all(map(NUMBER.fullmatch, filter(None, column))) else "" for column in columns]
    group = nodes.tgroup("", *(nodes.colspec("", colwidth=1) for _ in columns), cols=len(columns))
    if table.head:
        group += nodes.thead("", _write_row(table.head, classes))
    group += nodes.tbody("", *(_write_row(row, classes) for row in table.rows))
    return nodes.table("", group, classes=["measured"])


def _write_row(cells: list[str], classes: list[str]) -> nodes.row:
    row = nodes.row()
    for text, kind in zip(cells, classes, strict=True):
        word = nodes.literal if NAME.fullmatch(text) and not NUMBER.fullmatch(text) else nodes.Text
        content = word(text, text) if word is nodes.literal else word(text)
        row += nodes.entry("", nodes.paragraph("", "", content), classes=[kind] * bool(kind))
    return row


def write_prose(prose: Prose) -> list[nodes.Node]:
    """Return the lines as a list, in which a line that is indented belongs to the one before. A line alone is a paragraph."""
    items: list[nodes.Node] = []
    lines = prose.lines
    while lines:
        (indentation, text), *lines = lines
        inner = next((n for n, (other, _) in enumerate(lines) if other <= indentation), len(lines))
        items.append(nodes.list_item("", nodes.paragraph("", text), *write_prose(Prose(lines[:inner]))))
        lines = lines[inner:]
    return list(items[0].children) if len(items) == 1 else [nodes.bullet_list("", *items)] * bool(items)


class Measured(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        _, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(path)
        parts = read_parts(Path(path).read_text(encoding="utf-8"))
        return [node for part in parts for node in ([write_table(part)] if isinstance(part, Table) else write_prose(part))]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
