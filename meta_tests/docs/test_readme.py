"""The README is short, its picture and its failure are those of a real run, and its blocks fit the page."""

import re
from pathlib import Path

import pytest

from ..measure.first_verdict import FIRST_FAILURE, MAX_LINES, MAX_SECONDS, VERDICT
from ..support.browser import open_page, start_browser
from ..support.docs_scripts import import_script
from ..support.paths import MEASURED, ROOT
from .test_documentation import mask_numbers

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the README's command prints on its example."""
    pytest.importorskip("torch")
    text: str = import_script("verdict_picture").run(tmp_path_factory.mktemp("readme"))
    return text


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) < 120


def test_the_blocks_are_narrow() -> None:
    """At 1280 px a block of the site holds 90 characters."""
    lines = re.findall(r"^    .*$", README, re.MULTILINE)  # of indented blocks, and of functions in the Python
    assert len(lines) > 15
    assert max(map(len, lines)) <= 85


def test_every_link_leads_to_a_file() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.rotating
def test_the_picture_is_that_of_a_run(printed: str) -> None:
    """Where this fails, run `python docs/verdict_picture.py`. Numbers may differ: they depend on the machine and on versions."""
    script = import_script("verdict_picture")
    assert mask_numbers(script.PICTURE.read_text(encoding="utf-8")) == mask_numbers(script.picture(printed))


def test_the_picture_shows_the_bug() -> None:
    script = import_script("verdict_picture")
    text = script.PICTURE.read_text(encoding="utf-8")
    assert f"$ {script.example()[1]}" in re.sub(r"\s+", " ", text)
    for part in (
        "my_backend breaks rms_norm.reference",
        "epsilon stands outside the square root",
        "again: pytest",
        "next: pytest",
    ):
        assert part in text
    assert "/tmp" not in text
    assert f"]({script.PICTURE.relative_to(ROOT).as_posix()})" in README


@pytest.mark.rotating
def test_the_quoted_failure_is_that_of_the_run(printed: str) -> None:
    quoted = README.partition("The suite answers, after a few seconds:\n\n")[2].partition("\n\n")[0].splitlines()
    assert len(quoted) > 5
    rest = mask_numbers(printed)
    for line in quoted:
        _, found, rest = rest.partition(mask_numbers(line.removeprefix("    ")))
        assert found, f"the run does not print {line!r}, or not there:\n{printed}"


def test_the_output_of_the_example_is_short(printed: str) -> None:
    assert len(printed.splitlines()) < MAX_LINES


def test_the_measured_first_verdict_came_in_time_and_is_short() -> None:
    """Where this fails, run `python -m meta_tests.measure.first_verdict > docs/measured/first_verdict.txt` on an idle machine."""
    text = (MEASURED / "first_verdict.txt").read_text(encoding="utf-8")
    figures = {name: float(number) for name, number in re.findall(r"^(\w[\w ]*?)(?: after)? +([\d.]+) ", text, re.MULTILINE)}
    assert figures["first failure"] <= MAX_SECONDS[FIRST_FAILURE]
    assert figures["verdict"] <= MAX_SECONDS[VERDICT]
    assert figures["output"] < MAX_LINES


@pytest.mark.rotating
def test_no_block_of_the_front_page_is_cut(site: Path) -> None:
    cut = "() => [...document.querySelectorAll('article pre')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)"
    blocks = len(re.findall(r"\n\n    \S", README.partition("<!-- end -->")[0]))
    with start_browser() as browser, open_page(browser, site / "index.html", 1280, "light") as (tab, _):
        assert tab.locator("article pre").count() == blocks + 1, "the indented blocks, and the Python"
        assert tab.evaluate(cut) == []
        assert tab.locator("article img[src$='verdict.svg']").evaluate("e => e.complete && e.naturalWidth") > 100


def test_the_type_of_the_picture_is_readable_on_a_phone(tmp_path: Path) -> None:
    """On a page of 390 pixels with margins of 16, a letter of the picture is at least 9 pixels high."""
    script = import_script("verdict_picture")
    (page := tmp_path / "page.html").write_text(
        '<!doctype html><meta name="viewport" content="width=device-width"><body style="margin:16px">'
        f'<img src="{script.PICTURE.as_uri()}" style="max-width:100%">'
    )
    type_size = float(re.findall(r"font:([\d.]+)px", script.STYLE)[0])
    with start_browser() as browser, open_page(browser, page, 390, "light") as (tab, _):
        assert tab.locator("img").evaluate("e => e.clientWidth / e.naturalWidth") * type_size >= 9
