"""What code under test raises where nobody can catch it, and the warnings that it causes.

Python ignores an exception in a destructor, a weak reference or a callback of the collector, and one that ends a thread. It
prints them with a traceback, and pytest warns of them in their own words, which a terminal or a CI system could read as commands.
No verdict depends on them.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

from ..implementation.printable import printable_line, text_of

if TYPE_CHECKING:
    from .session import Session

KEEP_NOTHING: Callable[[Any], None] = deque[Any](maxlen=0).append  # a function of C, which no exception can be raised in
TRACEBACK = "Traceback (most recent call last):\n"


class IgnoredExceptions:
    """A pytest plugin that drops what Python ignores, and makes one line of a warning."""

    def __init__(self, session: Session):
        self.session = session

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        """Have exceptions that Python ignores dropped, from the first law on. pytest puts its functions back at its end."""
        if not self.session.watches_this_process:
            return (yield)
        sys.unraisablehook = KEEP_NOTHING
        try:
            return (yield)
        finally:  # after the last law nothing collects the warnings
            threading.excepthook = KEEP_NOTHING
            warnings.filterwarnings("ignore", category=pytest.PytestUnhandledThreadExceptionWarning)

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Make one line, which does nothing, of a warning's text."""
        if self.session.watches_this_process:
            warning_message.message = describe_warning(text_of(warning_message.message))


def describe_warning(text: str) -> str:
    """Return the text of a warning in one line. Of a traceback its last lines are left, which name the exception."""
    before, _, after = text.partition(TRACEBACK)
    raised = [line for line in after.partition("\nEnable tracemalloc")[0].splitlines() if not line.startswith(" ")]
    return printable_line(": ".join(part.strip() for part in (before, " ".join(raised)) if part.strip()))
