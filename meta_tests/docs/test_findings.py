"""The table of findings and the README's numbers agree with the pages in docs/findings/."""

import re
import shutil
import subprocess
from itertools import chain
from pathlib import Path

import pytest

from ..support.paths import DOCS, ROOT

PAGES = sorted((DOCS / "findings").glob("*.md"))
NO_FINDINGS = {"Refusals and conventions", "Levels that do not hold"}  # sections at the end of a page
ROW = re.compile(r"^\| ([\w .-]+) ([\d.]+) \| \[(.+?)\]\(findings/(\w+)\.md#(\S+)\) \| ([\w, ]+) \| (.+) \|$", re.MULTILINE)


def list_sections(page: Path) -> dict[str, str]:
    """Return the text of each finding of a page by its title."""
    sections = (part.partition("\n") for part in page.read_text().split("\n## ")[1:])
    return {title: text for title, _, text in sections if title not in NO_FINDINGS}


def list_rows() -> list[tuple[str, ...]]:
    """Return library, version, finding, page, anchor, dtypes and upstream column of each row of the table."""
    text = (DOCS / "findings.md").read_text()
    rows = ROW.findall(text)
    assert len(rows) == len(re.findall(r"^\| (?!library)", text, re.MULTILINE)), "a row has an empty or malformed cell"
    return rows


def count_reproduced(page: Path) -> int:
    """Count the findings that the page shows by lines of its own: what another library's page shows counts there."""
    return sum("```py" in text or "```js" in text for text in list_sections(page).values())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_finding_has_a_row(page: Path) -> None:
    slugify = pytest.importorskip("mdit_py_plugins.anchors.index").slugify
    rows = [row for row in list_rows() if row[3] == page.stem]
    assert [row[4] for row in rows] == [slugify(title) for title in list_sections(page)]
    introduction = page.read_text().partition("\n## ")[0]
    assert all(f"{version}" in introduction for _, version, *_ in rows), "the row and the page name the same version"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_links_of_a_row_are_those_of_its_section(page: Path) -> None:
    rows = [row for row in list_rows() if row[3] == page.stem]
    for (*_, upstream), text in zip(rows, list_sections(page).values(), strict=True):
        links = re.findall(r"https://[^)\s]+", upstream)
        assert [link for link in links if link not in text] == []
        assert links or "no report" in upstream or "convention" in upstream or "PyTorch's" in upstream, upstream


def test_the_readme_counts_the_findings() -> None:
    counts = {row[0]: count_reproduced(DOCS / "findings" / f"{row[3]}.md") for row in list_rows()}
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"found {sum(counts.values())} deviations from the equations in released versions of {len(counts)} libraries" in readme
    assert ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda pair: -pair[1])) in readme
    upstream = [row[-1] for row in list_rows()]
    conventions = sum("convention" in words for words in upstream)
    assert conventions == 3
    assert "Three of them are conventions rather than errors" in readme
    unreported = sum(words.startswith("no report") and "PyTorch's" not in words for words in upstream)
    assert f"For {unreported} of them we found no report" in readme


def test_the_pages_are_in_the_table() -> None:
    assert {page.stem for page in PAGES} == {row[3] for row in list_rows()}
    assert list(chain.from_iterable(list_sections(page) for page in PAGES))


def test_the_examples_in_javascript_print_what_the_page_says() -> None:
    """Each block is run with the page's first one in front, and prints the text below it."""
    folder = ROOT / "examples" / "tensorflow_js"
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not (folder / "node_modules").exists():
        pytest.skip("TensorFlow.js is not installed")
    text = (DOCS / "findings" / "tensorflow_js.md").read_text()
    first = text.partition("```js\n")[2].partition("```")[0]
    blocks = re.findall(r"```js\n([^`]*)```\n\n```text\n([^`]*)```", text, re.DOTALL)
    assert len(blocks) == count_reproduced(DOCS / "findings" / "tensorflow_js.md")
    for block, printed in blocks:
        done = subprocess.run(["node", "-e", first + block], cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.stdout == printed
