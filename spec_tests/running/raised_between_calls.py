"""What is raised between two calls and would end the program: SystemExit or GeneratorExit in the thread that judges.

A call that raises them has failed (`implementation/guard.py`). Between calls no code of a backend should run in that thread. But
another thread can raise an exception in it, and so can the handler of a signal. Python stops neither. A law fails of it, and
elsewhere it stops the run. An error of the suite that comes from a function that the backend has replaced stops the run, too.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from ..trials.engine import RaisedBetweenCalls
from .last_words import WHO, describe_callback, describe_foreign

if TYPE_CHECKING:
    from .session import Session

ENDING = (SystemExit, GeneratorExit)
OF_PYTEST = (KeyboardInterrupt, pytest.exit.Exception, pytest.Session.Failed, pytest.UsageError)


def describe_raised(error: BaseException | None) -> str:
    """Return the sentence about an exception that was raised between two calls, "" about one that ends no program."""
    if isinstance(error, RaisedBetweenCalls):
        name = str(error)
    elif isinstance(error, ENDING):
        name = type(error).__name__
    else:
        return ""
    return f"{name} was raised between two calls, {WHO}"


class EndingsWatch:
    """A pytest plugin that makes a sentence of what would end the run with a traceback of pytest's."""

    def __init__(self, session: Session):
        self.session = session

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Stop the run, which then has its summary and its report."""
        try:
            return (yield)
        except OF_PYTEST:
            raise
        except BaseException as error:
            sentence = describe_raised(error) or self.describe_code_under_test(error)
            if not sentence:
                raise
            session.shouldstop = sentence
            return True

    def describe_code_under_test(self, error: BaseException) -> str:
        """Return the sentence about an error that code under test has raised or caused, "" about an error of the suite alone."""
        files = self.session.list_loaded_files()
        return describe_foreign(error, files) or self.describe_replaced(error) or describe_callback(error, files)

    def describe_replaced(self, error: BaseException) -> str:
        """Return the sentence about an error of the suite while functions of its own were replaced, "" if none were."""
        names = self.session.undo_replacements()
        return f"the suite fails with {type(error).__name__}, since the backend replaced {', '.join(names[:3])}" if names else ""
