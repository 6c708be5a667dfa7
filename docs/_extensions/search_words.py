"""A Sphinx extension that stems each word of the search index once, not once for each page that has it."""

from __future__ import annotations

from functools import cache
from typing import Any

from sphinx.search.en import SearchEnglish


class English(SearchEnglish):
    """English, with the stems of words that are known."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.stem = cache(self.stem)  # type: ignore[method-assign]


def setup(app: Any) -> dict[str, bool]:
    app.add_search_language(English)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
