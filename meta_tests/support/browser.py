"""A headless Chromium: Playwright's own, or the machine's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

INSTALLED = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def running() -> Iterator[Any]:
    """A browser; the test that asks for it is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        own = next((path for name in INSTALLED if (path := shutil.which(name))), None)
        try:
            browser = started.chromium.launch(executable_path=own, args=["--no-sandbox"])  # of files that are ours
        except playwright.Error as error:
            why = str(error).strip().splitlines()[0]
            pytest.skip(f"there is no Chromium here, and playwright install chromium has brought none ({why})")
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, file: Path, width: int, scheme: str) -> Iterator[tuple[Any, list[str]]]:
    """The file in a window of its own, and what its console says."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    tab, said = context.new_page(), list[str]()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(file.as_uri())
    yield tab, said
    context.close()
