"""Capture what a backend prints outside of a test, where pytest captures nothing: while it is imported, or for a diagnosis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def capture_output(config: pytest.Config) -> Iterator[list[str]]:
    """Capture what is printed, as pytest does in a test. At the end the list has the texts. With -s nothing is captured."""
    manager: Any = config.pluginmanager.get_plugin("capturemanager")
    texts: list[str] = []
    if manager is None or not manager.is_globally_capturing():
        yield texts
        return
    manager.resume_global_capture()
    try:
        yield texts
    finally:
        manager.suspend_global_capture(in_=False)
        texts += [text for text in manager.read_global_capture() if text]
