"""The sentence and the exit status of a run on the command line that something ends before its last law.

Code under test can raise SystemExit in the thread that judges, from another thread, from the handler of a signal or from an audit
hook: at any time, also while pytest and this suite clean up. No code in Python is sure to run then. So two functions of C are
registered to run at exit before a backend is loaded: one prints the sentence, and the other ends the process. A run that comes
to its end takes them back.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Collection, Iterator
from os import _exit, write
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

STATUS = int(pytest.ExitCode.TESTS_FAILED)
STANDARD_ERROR = 2
ENDED = "the run was ended before its last law"
WHO = "as a thread, a signal or a hook of the code under test can do; --isolate keeps the two apart"


def describe_foreign(error: BaseException | None, files: Collection[Path]) -> str:
    """Return the sentence about an error that code of one of these files has raised in the judge, "" about another.

    That code is in its traceback, or in that of an error before it.
    """
    for each in _list_errors(error):
        names = [code.co_name for code in _list_code(each.__traceback__) if Path(code.co_filename) in files]
        if names:
            return f"{ENDED}: {names[-1]} raised {type(each).__name__} where the suite judges, {WHO}"
    return ""


def describe_callback(error: BaseException, files: Collection[Path]) -> str:
    """Return the sentence about an error of the suite while Python calls code of these files at each collection of garbage."""
    for callback in gc.callbacks:
        code = getattr(callback, "__code__", None)
        if code is not None and Path(code.co_filename) in files:
            return f"the suite fails with {type(error).__name__}, while {code.co_name} runs at each collection of garbage, {WHO}"
    return ""


def _list_errors(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that it came of or after."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _list_code(place: TracebackType | None) -> Iterator[Any]:
    while place is not None:
        yield place.tb_frame.f_code
        place = place.tb_next


class LastWords:
    """What is arranged before a backend is loaded. `files` returns the files of the backends."""

    def __init__(self, files: Callable[[], Collection[Path]]) -> None:
        self.files = files

    def arm(self, register: Callable[..., Any]) -> None:
        """Have the sentence printed and the process ended, should Python come to its end before the run does."""
        register(_exit, STATUS)
        register(write, STANDARD_ERROR, f"\nERROR: {ENDED}, {WHO}\n".encode())
        sys.excepthook = self.print_error

    def disarm(self, unregister: Callable[[Any], None]) -> None:
        for function in (write, _exit):
            unregister(function)
        sys.excepthook = sys.__excepthook__

    def print_error(self, kind: type[BaseException], error: BaseException, place: TracebackType | None) -> None:
        """Print what ends the program: a sentence about code of a backend, and a traceback about the suite."""
        if not describe_foreign(error, self.files()):  # else the sentence at exit says it
            sys.__excepthook__(kind, error, place)


def say_that_it_was_ended() -> None:
    """Print the sentence now."""
    os.write(STANDARD_ERROR, f"\nERROR: {ENDED}, {WHO}\n".encode())
