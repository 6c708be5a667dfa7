"""The exit status of the process is that of the run, whatever a backend has arranged for the end of the process.

What is registered to run at exit after a backend is loaded runs in a forked copy of the process, without output and for a limited
time. Then this process ends by `os._exit`, before threads are joined and before objects are destroyed. All of this happens only
where pytest's command line is the whole program: a caller of `pytest.main` has its return value.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
import warnings
from atexit import _run_exitfuncs
from collections.abc import Callable, Generator
from os import _exit, waitpid
from types import BuiltinMethodType
from typing import Any

import pytest

from .last_words import STATUS as ENDED_STATUS
from .last_words import LastWords, say_that_it_was_ended

EXIT_SECONDS = 5.0  # that the functions registered by others may take
fork: Callable[[], int] | None = getattr(os, "fork", None)  # these names are watched, as all of ours; those in `os` are not
LockType = type(threading.Lock())
COMMAND_LINE_FUNCTIONS = ("console_main", "_console_main")  # of pytest, by its version


class ExitStatus:
    """Holds the status of a run until the process ends. It is a pytest plugin, which is registered before a backend is loaded."""

    def __init__(self, last_words: LastWords, *, is_worker: bool = False) -> None:
        self.last_words = last_words
        self.is_worker = is_worker  # of pytest-xdist: its process ends with the run, and what it printed later would be read
        self.status: int | None = int(pytest.ExitCode.USAGE_ERROR)  # until a session begins; None: not known
        self.session: pytest.Session | None = None
        self.judges = False  # whether the laws are under way
        self.was_ended = False  # whether something has ended the run while they were
        self.functions: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []  # registered by others
        self.runs_others_at_fork = False  # whether a fork would run code of others in this process
        self.count = 0  # of the functions that were registered before
        self.originals = atexit.register, atexit.unregister
        self.register_at_fork: Any = getattr(os, "register_at_fork", None)

    # --- while others may register functions --------------------------------------------------------------------------

    def install(self) -> None:
        """Keep what is registered from now on apart. pytest and its plugins may register, too, which is harmless."""
        if not self.is_worker and is_command_line():
            self.last_words.arm(self.originals[0])
        self.count = count_exit_functions()
        atexit.register, atexit.unregister = self._register, self._unregister
        if self.register_at_fork:
            os.register_at_fork = self._register_at_fork  # type: ignore[assignment]

    def uninstall(self) -> None:
        """Put the functions of Python back, with what was registered."""
        self.last_words.disarm(self.originals[1])
        atexit.register, atexit.unregister = self.originals
        if self.register_at_fork:
            os.register_at_fork = self.register_at_fork
        for function, args, keywords in self.functions:
            atexit.register(function, *args, **keywords)
        self.functions.clear()

    def _register(self, function: Callable[..., Any], /, *args: Any, **keywords: Any) -> Callable[..., Any]:
        self.functions.append((function, args, keywords))
        return function

    def _unregister(self, function: Callable[..., Any], /) -> None:
        self.functions[:] = [entry for entry in self.functions if entry[0] != function]
        self.originals[1](function)

    def _register_at_fork(self, **functions: Callable[..., Any]) -> None:
        here = [functions[name] for name in ("before", "after_in_parent") if name in functions]
        self.runs_others_at_fork |= not all(map(_is_method_of_a_lock, here))
        self.register_at_fork(**functions)

    # --- the run --------------------------------------------------------------------------------------------------------

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session, self.status = session, None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        """Note whether the laws are under way, which they still are if what ends them escapes."""
        self.judges = True
        try:
            result = yield
        except (KeyboardInterrupt, pytest.exit.Exception, pytest.Session.Failed, pytest.UsageError):
            self.judges = False
            raise
        self.judges = False
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        if self.session is not None:
            self.status = self.status or int(self.session.exitstatus)
            if self.judges and self.status == pytest.ExitCode.OK:  # which pytest sets before the laws
                self.status, self.was_ended = ENDED_STATUS, True
            self.session.exitstatus = self.status
        if self.status is None or not (self.is_worker or is_command_line()):
            self.uninstall()
        else:  # the last to register is the first to run, and before threads are joined
            getattr(threading, "_register_atexit", self.originals[0])(self.end_process)

    # --- at the end of the process ----------------------------------------------------------------------------------------

    def end_process(self) -> None:
        """Run what was registered to run at exit, and end the process with the status of the run."""
        assert self.status is not None
        with contextlib.suppress(BaseException):
            _flush()
            if self.was_ended:
                say_that_it_was_ended()
            self._run_functions_of_others()
            if count_exit_functions() == self.count:  # else some were registered by other means
                _drop_dispatchers(self.originals[1])
                self.last_words.disarm(self.originals[1])
                _run_exitfuncs()
            _flush()
        _exit(self.status)

    def _run_functions_of_others(self) -> None:
        """Run them in a copy of this process. Run none where a fork would run code of others here, or where there is no fork."""
        if self.runs_others_at_fork or fork is None:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # threads do not exist in the copy, of which Python warns
            child = fork()
        if child:
            _wait(child)
            return
        try:
            os.setsid()
            empty = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(empty, number)
            while self.functions:
                function, args, keywords = self.functions.pop()
                with contextlib.suppress(Exception):
                    function(*args, **keywords)
            for dispatcher in find_dispatchers():
                with contextlib.suppress(Exception):
                    dispatcher()
        finally:
            _exit(0)


def _is_method_of_a_lock(function: Any) -> bool:
    """Whether this is a method of a lock of Python, such as the standard library registers for its own locks."""
    return isinstance(function, BuiltinMethodType) and type(function.__self__) is LockType


def count_exit_functions() -> int:
    """Return the number of functions that Python would run at exit."""
    return int(getattr(atexit, "_ncallbacks", lambda: 0)())


def find_dispatchers() -> list[Callable[[], Any]]:
    """Return the functions of the standard library that run functions of others at exit, of the modules that are loaded."""
    places = (("weakref", "finalize._exitfunc"), ("multiprocessing.util", "_exit_function"), ("logging", "shutdown"))
    found = []
    for module, names in places:
        value: Any = sys.modules.get(module)
        for name in names.split("."):
            value = getattr(value, name, None)
        if callable(value):
            found.append(value)
    return found


def _drop_dispatchers(unregister: Callable[[Any], None]) -> None:
    """Keep the standard library from running functions of others in this process."""
    for dispatcher in find_dispatchers():
        unregister(dispatcher)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _wait(child: int) -> None:
    """Wait for a child process, and kill it with its group when its time is over."""
    deadline = time.monotonic() + EXIT_SECONDS
    while waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(OSError):
                    kill(child, signal.SIGKILL)
            waitpid(child, 0)
            return
        time.sleep(0.002)


def is_command_line() -> bool:
    """Whether pytest's command line is among the callers: `pytest` or `python -m pytest`."""
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        if frame.f_code.co_name in COMMAND_LINE_FUNCTIONS and frame.f_globals.get("__name__") == "_pytest.config":
            return True
    return False
