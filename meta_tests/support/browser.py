"""A headless Chromium: an installed one, or else Playwright's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BROWSER_COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def start_browser() -> Iterator[Any]:
    """Start a browser, or skip the test if there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        installed = next((path for name in BROWSER_COMMANDS if (path := shutil.which(name))), None)
        try:
            browser = started.chromium.launch(executable_path=installed, args=["--no-sandbox"])  # our own files
        except playwright.Error as error:
            reason = str(error).strip().splitlines()[0]
            pytest.skip(f"there is no Chromium here, and playwright install chromium has brought none ({reason})")
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Any, file: Path, width: int, scheme: str) -> Iterator[tuple[Any, list[str]]]:
    """Open a file in a new window. The list receives the messages of the console and the errors of the page."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    tab, messages = context.new_page(), list[str]()
    tab.on("console", lambda message: messages.append(message.text))
    tab.on("pageerror", lambda error: messages.append(str(error)))
    tab.goto(file.as_uri())
    yield tab, messages
    context.close()
