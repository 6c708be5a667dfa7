"""The page of conformance: every result has a square, every deviation a link, and a browser sorts and searches the table."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..measure.conformance import CONFORMANCE_JSON
from ..support.browser import open_page, start_browser
from ..support.paths import DOCS
from ..support.sphinx_extensions import import_extension

ENTRIES = json.loads(CONFORMANCE_JSON.read_text(encoding="utf-8"))


@pytest.fixture
def grid() -> str:
    pytest.importorskip("sphinx")
    return "\n".join(import_extension("conformance_grid").write_grid(ENTRIES))


@pytest.fixture
def page(grid: str, tmp_path: Path) -> Path:
    """Return a page that has the table alone, with its style and its script."""
    style, script = ((DOCS / "_static" / name).read_text(encoding="utf-8") for name in ("site.css", "conformance.js"))
    colours = ":root{--color-background-primary:#fff;--color-background-border:#ccc;--font-size--small:13px}"
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>{colours}{style}</style>'
    (path := tmp_path / "grid.html").write_text(f"<!doctype html>{head}<body>{grid}<script>{script}</script>", encoding="utf-8")
    return path


def list_results() -> Iterator[tuple[str, str, str, bool]]:
    """Yield the backend, the operation and the dtype of each result, and whether it deviates."""
    for name, entry in ENTRIES.items():
        for operation, cells in entry.get("cells", {}).items():
            yield from ((name, operation, dtype, bool(cell["broken"])) for dtype, cell in cells.items() if cell)


def test_every_result_has_a_square_with_its_words(grid: str) -> None:
    shown = re.findall(r'aria-label="([^,"]+), (\w+), (\w+): (\w+)', grid)
    assert sorted((*rest, words == "deviates") for *rest, words in shown) == sorted(list_results())
    assert len(shown) > 500


def test_every_deviation_links_to_a_heading_of_a_finding(grid: str) -> None:
    slugify = pytest.importorskip("mdit_py_plugins.anchors.index").slugify
    assert not re.findall(r'<span class="dtype deviates"', grid)
    links = {*re.findall(r'<a href="findings/(\w+)\.html#([^"]+)" class="dtype deviates"', grid)}
    assert links
    for stem, anchor in links:
        titles = re.findall(r"^## (.*)$", (DOCS / "findings" / f"{stem}.md").read_text(encoding="utf-8"), re.MULTILINE)
        assert anchor in {slugify(title.replace("`", "")) for title in titles}


def test_every_row_says_version_effort_date_and_commit(grid: str) -> None:
    for name, entry in ENTRIES.items():
        if "cells" in entry:
            about = grid.partition(f'data-sort="{name}">')[2].partition("</th>")[0]
            assert html.escape(entry["version"]) in about
            when = r"\d{4}-\d\d-\d\d, at [0-9a-f]{7}"
            assert re.search(rf"{entry['effort']} effort.*, {entry['examples']} examples, {when}", about), about


@pytest.mark.rotating
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_sorts_and_searches(width: int, page: Path) -> None:
    with start_browser() as browser, open_page(browser, page, width, "light") as (tab, messages):
        assert not tab.evaluate("document.documentElement.scrollWidth > innerWidth")
        rows = "[...document.querySelectorAll('#conformance tbody tr')].filter(r => !r.hidden).map(r => r.cells[0].dataset.sort)"
        tab.get_by_role("button", name="failures").click()
        counts = "[...document.querySelectorAll('#conformance tbody tr')].map(r => Number(r.cells[1].textContent))"
        assert tab.evaluate(counts) == sorted(tab.evaluate(counts), reverse=True)
        tab.get_by_label("Search").fill("jax")
        assert {name.partition("-")[0] for name in tab.evaluate(rows)} >= {"jax"}
        assert all("torch-c" not in name for name in tab.evaluate(rows))
        heads = "[...document.querySelectorAll('#conformance th[data-operation]')].filter(h => !h.hidden).map(h => h.textContent)"
        tab.get_by_label("Search").fill("")
        every = tab.evaluate(heads)
        tab.get_by_label("Search").fill("rope")
        found = tab.evaluate(heads)
        assert found == [name for name in every if "rope" in name]
        assert 0 < len(found) < len(every)
        assert messages == []
