"""Test that the texts of measurements become tables: nothing is lost, and no number lands in another column."""

import re

import pytest

from ..support.paths import DOCS, MEASURED
from ..support.sphinx_extensions import import_extension

pytest.importorskip("sphinx")
TABLES = import_extension("measured_tables")
SHOWN = sorted(
    {name for page in DOCS.rglob("*.md") for name in re.findall(r"\{measured\} (?:\.\./)?measured/(\S+)", page.read_text())}
)


@pytest.mark.parametrize("name", SHOWN)
def test_every_word_and_every_number_of_a_text_is_shown(name: str) -> None:
    text = (MEASURED / name).read_text(encoding="utf-8")
    cells: list[str] = []
    for part in TABLES.read_parts(text):
        if isinstance(part, TABLES.Table):
            assert {len(row) for row in part.rows} == {len(part.head or part.rows[0])}
            cells += [cell for row in (part.head, *part.rows) for cell in row]
        else:
            cells += [line for _, line in part.lines]
    shown = " ".join(cells)
    assert sorted(re.findall(r"\d+", shown)) == sorted(re.findall(r"\d+", text))
    assert [word for word in re.findall(r"\w+", text) if word not in shown] == []


def test_columns_below_a_ruler_keep_their_places() -> None:
    table, *rest = TABLES.read_parts(
        "judge    cases    appli-    s\n                  cable\n"
        "-------  -------  --------  ---\na b      15                 1.2\n"
    )
    assert rest == []
    assert table == TABLES.Table(["judge", "cases", "applicable", "s"], [["a b", "15", "", "1.2"]])


def test_columns_without_a_ruler_are_apart_by_two_blanks() -> None:
    table, prose = TABLES.read_parts("file     killed   left\na.py         3\nb.py         4      1\n\nall: 8\n  of them: 1\n")
    assert table == TABLES.Table(["file", "killed", "left"], [["a.py", "3", ""], ["b.py", "4", "1"]])
    assert prose == TABLES.Prose([(0, "all: 8"), (2, "of them: 1")])


def test_names_that_leave_one_blank_between_them_are_columns() -> None:
    title, table = TABLES.read_parts("two:\n  rope/short       rope.reference\n  rope/a-long-name rope.reference\n")
    assert title == TABLES.Prose([(0, "two:")])
    assert table == TABLES.Table([], [["rope/short", "rope.reference"], ["rope/a-long-name", "rope.reference"]])


def test_a_table_of_markdown_is_a_table() -> None:
    (table,) = TABLES.read_parts("| suite | found |\n|---|---|\n| this `-x` | 3% |\n")
    assert table == TABLES.Table(["suite", "found"], [["this -x", "3%"]])
