"""The page of conformance: every result has a square, every deviation a link, and a browser orders and searches the tables."""

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


def test_every_operation_is_in_one_group(grid: str) -> None:
    """A new operation is among the others until it is put into a group."""
    shown = re.findall(r'<th scope="row" data-operation="(\w+)">', grid)
    assert sorted(shown) == sorted({operation for _, operation, _, _ in list_results()} | set(shown))
    groups = import_extension("conformance_grid").list_groups([*shown, "a_new_one"])
    assert groups.pop("Others") == ["a_new_one"]
    assert sorted(name for members in groups.values() for name in members) == sorted(shown)
    assert max(map(len, groups.values())) < 15


def test_every_library_says_version_effort_date_and_commit(grid: str) -> None:
    for name, entry in ENTRIES.items():
        if "cells" in entry:
            about = grid.partition(f'data-sort="{name}">')[2].partition("</tr>")[0]
            assert html.escape(entry["version"]) in about
            when = r"\d{4}-\d\d-\d\d, at [0-9a-f]{7}"
            assert re.search(rf"{entry['effort']} effort.*, {entry['examples']} examples, {when}", about), about


SEEN_AND_STUCK = """() => [...document.querySelectorAll('.conformance')].every(box => {
    box.scrollLeft = 9999;
    const heads = [...box.querySelectorAll('tbody th')], edge = box.getBoundingClientRect().left;
    return box.scrollHeight <= box.clientHeight && heads.every(e => Math.abs(e.getBoundingClientRect().left - edge) < 2);
})"""


@pytest.mark.rotating
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_all_operations_of_a_group_and_orders_and_searches(width: int, page: Path) -> None:
    with start_browser() as browser, open_page(browser, page, width, "light") as (tab, messages):
        assert not tab.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert tab.evaluate(SEEN_AND_STUCK), "no table is scrolled downwards, and its first column stays"
        seen = ".filter(e => !e.hidden).map(e => e.dataset.library)"
        libraries = f"[...document.querySelectorAll('#conformance tbody tr')]{seen}"
        first = f"[...document.querySelector('.conformance thead tr').cells].slice(1){seen}"
        tab.get_by_role("button", name="failures").click()
        counts = "[...document.querySelectorAll('#conformance tbody tr')].map(r => Number(r.cells[1].textContent))"
        assert tab.evaluate(counts) == sorted(tab.evaluate(counts), reverse=True)
        assert tab.evaluate(first) == [name for name in tab.evaluate(libraries) if name in tab.evaluate(first)]
        tab.get_by_role("button", name="gelu", exact=True).click()
        ranks = "[...document.querySelectorAll('tr:has(> th[data-operation=gelu]) > td')].map(c => Number(c.dataset.sort))"
        assert tab.evaluate(ranks) == sorted(tab.evaluate(ranks))
        tab.get_by_label("Search").fill("jax")
        assert {name.partition("-")[0] for name in tab.evaluate(libraries)} == {"jax"}
        assert {name.partition("-")[0] for name in tab.evaluate(first)} == {"jax"}
        heads = "[...document.querySelectorAll('tr:not([hidden]) > th[data-operation]')].map(h => h.dataset.operation)"
        tab.get_by_label("Search").fill("")
        every = tab.evaluate(heads)
        tab.get_by_label("Search").fill("rope")
        found = tab.evaluate(heads)
        assert found == [name for name in every if "rope" in name]
        assert 0 < len(found) < len(every)
        assert messages == []
