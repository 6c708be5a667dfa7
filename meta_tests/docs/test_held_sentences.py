"""Test that each sentence of the pages about threats and scores is listed with the test that holds it.

A line of held_sentences.txt has a test and the beginning of a sentence, in the order of the page. Three words stand in place of a
test: `about`, for a sentence that says what the page or a word is about; `advice`; and `limit`, for what the suite does not do.
"""

import re

import pytest

from ..support.paths import DOCS, ROOT

TABLE = ROOT / "meta_tests" / "docs" / "held_sentences.txt"
WORDS = ("about", "advice", "limit")
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
BETWEEN = re.compile(r"(?<=[.:!?])\s+(?=[A-Z`*\[(])")


def read_table() -> dict[str, list[tuple[str, str]]]:
    """Return the lines about each page: a test or a word, and the beginning of the sentence."""
    pages: dict[str, list[tuple[str, str]]] = {}
    for line in TABLE.read_text().splitlines():
        if line.startswith("["):
            lines = pages.setdefault(line.strip("[]"), [])
        else:
            held_by, _, beginning = line.partition(" | ")
            lines.append((held_by, beginning))
    return pages


def list_sentences(text: str) -> list[str]:
    """Return the sentences of a page: those of each paragraph and list, and the rows of tables."""
    found, paragraph = list[str](), list[str]()

    def end_paragraph() -> None:
        found.extend(filter(None, BETWEEN.split(" ".join(paragraph))))
        paragraph.clear()

    for line in BLOCK.sub("", text).splitlines():
        content = line.strip()
        if not content or content.startswith(("#", "|--")) or line.startswith("    "):
            end_paragraph()
            continue
        if content.startswith(("- ", "|")):
            end_paragraph()
        paragraph.append(content)
        if content.startswith("|"):
            end_paragraph()
    end_paragraph()
    return found


PAGES = read_table()


def test_both_pages_are_listed() -> None:
    assert list(PAGES) == ["threat_model.md", "guides/score.md"]


@pytest.mark.parametrize("page", PAGES)
def test_each_sentence_is_listed_in_order(page: str) -> None:
    sentences = list_sentences((DOCS / page).read_text())
    for sentence, (_, beginning) in zip(sentences, PAGES[page], strict=True):
        assert sentence.startswith(beginning), f"{TABLE.name} has {beginning!r} where the page says {sentence!r}"


@pytest.mark.parametrize("page", PAGES)
def test_the_tests_exist_and_hold_most_sentences(page: str) -> None:
    tests = [held_by for held_by, _ in PAGES[page] if held_by not in WORDS]
    for test in set(tests):
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / "meta_tests" / file).read_text(), f"there is no test {test}"
    assert len(tests) > 0.6 * len(PAGES[page])
