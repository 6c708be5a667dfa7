"""A step of the backend's, under guard: it answers, refuses, or is at fault; it may not stop the run, nor leave a mess."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .printable import printable
from .process_state import PROCESS, ProcessState, Setting


@dataclass(frozen=True)
class Limits:
    """What a call may take of the machine."""

    seconds: float = 60.0  # with room for a kernel that is compiled when it is called first
    memory: int | None = None  # bytes that the process may have; None: as the machine has it


MIN_TIMEOUT_SECONDS = 1.0  # seconds; each call that had no answer halves what the operation's later ones may take, down to that
_current = Limits()


def set_limits(limits: Limits) -> None:
    global _current
    _current = limits


def current_limits() -> Limits:
    return _current


class Refused(Exception):
    """The backend said NotImplementedError: not in this variant."""


class Fault(Exception):
    """What the backend did instead of answering, in one sentence."""

    def __init__(self, what: str, facts: list[tuple[str, str]] | None = None, *, late: bool = False, lost: bool = False):
        super().__init__(what)
        self.what, self.facts = what, facts or []
        self.late = late  # it took too long
        self.lost = lost  # its process is gone


class _OutOfTime(BaseException):
    pass


class _Watch:
    """Who interrupted a call: a person, the clock, or nobody but the backend itself."""

    def __init__(self) -> None:
        self.asked = self.rang = self.over = False

    def interrupt(self, *_: Any) -> None:
        self.asked = True
        raise KeyboardInterrupt

    def ring(self, *_: Any) -> None:
        if not self.over:
            self.rang = True
            raise _OutOfTime


@contextmanager
def _watching(watch: _Watch, seconds: float) -> Iterator[None]:
    """Python's own code can be interrupted so; code that never comes back to Python needs a process of its own."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    handlers = {signal.SIGALRM: watch.ring}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handlers[signal.SIGINT] = watch.interrupt
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    timer = signal.setitimer(
        signal.ITIMER_REAL, seconds, MIN_TIMEOUT_SECONDS
    )  # again and again: code may catch whatever is raised
    try:
        yield
    finally:
        watch.over = True
        signal.setitimer(signal.ITIMER_REAL, *timer)
        for number, handler in before.items():
            signal.signal(number, handler)


def run_guarded(step: Callable[[], Any], seconds: float, pieces: tuple[Setting, ...] = PROCESS) -> Any:
    """What the step answers; Refused or Fault for everything else but a person's own interruption."""
    watch = _Watch()
    try:
        with warnings.catch_warnings(), _watching(watch, seconds):
            warnings.simplefilter("ignore")  # the backend's own affair; only its result is judged
            surroundings = ProcessState(pieces)
            try:
                answer = step()
            finally:
                changed = surroundings.restore()
    except BaseException as error:
        if watch.asked:
            raise KeyboardInterrupt from None
        raise (timeout_fault(seconds) if watch.rang else as_fault(error)) from error
    if watch.rang:
        raise timeout_fault(seconds)
    if changed:
        raise Fault(f"the call changed {changed[0]}", [("also", what) for what in changed[1:]])
    return answer


def timeout_fault(seconds: float) -> Fault:
    return Fault(f"no answer within {seconds:.3g} s (--time-limit)", late=True)


def as_fault(error: BaseException) -> Exception:
    """What an exception says."""
    try:
        text = printable(str(error))
    except BaseException as other:
        text = f"whose text cannot be had: {type(other).__name__}"
    if isinstance(error, NotImplementedError):
        return Refused(text or "NotImplementedError")
    return Fault(f"the call raised {type(error).__name__}{': ' if text else ''}{text}")
