"""Texts that would do something where a page showed them as markup, and what a page is made of."""

from __future__ import annotations

import re
from html.parser import HTMLParser

HOSTILE = {
    "script": "<script>window.hacked = 1</script>",
    "end of style": "</style></script><script>window.hacked = 1</script>",
    "attribute": "\"><img src=x onerror='window.hacked = 1'> ' onfocus='window.hacked = 1' autofocus tabindex='1",
    "template": "{{ 7 * 7 }}{% raw %}",
    "direction": "\u202e\u2066txt.exe\u200f",
    "terminal": "\x1b[31mred\x1b[0m\x1b]0;title\x07\r\b\x00",
    "surrogate": "\ud800",
    "long": "x" * 1_000_000,
    "one word": "<b>" * 400,
}
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, text: str):
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def find(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def check_text_only(page: str, plain: str) -> None:
    """Assert that a page with hostile texts has the elements of the page with plain ones, and that the texts do nothing in it."""
    found, expected = Elements(page).found, Elements(plain).found
    assert [tag for tag, _ in found] == [tag for tag, _ in expected]
    assert [sorted(attributes) for _, attributes in found] == [sorted(attributes) for _, attributes in expected]
    assert not any(name.startswith("on") for _, attributes in found for name in attributes)
    assert not INVISIBLE.search(page)
    page.encode("utf-8")
