"""Run a step of the backend so that it neither stops the run nor leaves state changed. It returns, or raises Refused or Fault."""

from __future__ import annotations

import signal
import sysconfig
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

from .facilities import has_timer
from .missing_parts import describe_missing_part
from .printable import message_of
from .process_state import PROCESS_SETTINGS, ProcessState, Setting, get_handler, set_handler
from .step_under_way import step_under_way

SUITE = Path(__file__).parents[1]
STANDARD_LIBRARY = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))

T = TypeVar("T")
LEAST_TIMER_SECONDS = 1e-3  # 0 would switch the timer off
MIN_TIMEOUT_SECONDS = 1.0  # each timeout halves the limit of the operation's later calls, but not below this


class Refused(Exception):
    """The backend raised NotImplementedError, or needs what is missing here: it does not answer this variant of the operation."""


class Fault(Exception):
    """The backend failed to answer, or changed what it must not change. The text is one sentence that says how."""

    def __init__(
        self,
        what: str,
        facts: list[tuple[str, str]] | None = None,
        *,
        raised: tuple[str, str] | None = None,
        timed_out: bool = False,
        lost: bool = False,
    ):
        super().__init__(what)
        self.what, self.facts = what, facts or []
        self.raised = raised  # the type of the exception that the step raised, and its place in the backend's code
        self.timed_out = timed_out
        self.lost = lost  # whether its process has ended, or can no longer use its device
        self.device_lost = False  # whether it is the device that is lost


class _Timeout(BaseException):
    """Raised in a step when its time is over."""


ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def interrupt_run(received: int, *_: Any) -> None:
    """The handler of the signals that end a run. It ignores further ones, so that the run can write its results."""
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is interrupt_run:
            signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt(signal.Signals(received).name)


class _Interruption:
    """The signal handlers during a step. They record whether a person or the clock interrupted it.

    Their names stand in the message about a backend that changes a signal handler.
    """

    def __init__(self) -> None:
        self.by_person = self.by_clock = self.step_ended = False
        self.signal_name = ""  # of the signal by which a person, or a program, interrupted the run
        self.ignores_more = False  # whether further signals that end a run are ignored, so that nothing cuts its end

    def interrupt(self, number: int, _: Any) -> None:
        if number == signal.SIGINT or not self.by_person:  # of the other signals, the first is enough
            self.by_person = True
            self.ignores_more = number != signal.SIGINT
            self.signal_name = signal.Signals(number).name
            raise KeyboardInterrupt(self.signal_name)

    def ring(self, *_: Any) -> None:
        if self.step_ended:
            return
        if not self.by_clock and (left := step_under_way.time_left()) > 0:  # the process was stopped meanwhile
            signal.setitimer(signal.ITIMER_REAL, max(left, LEAST_TIMER_SECONDS), MIN_TIMEOUT_SECONDS)
            return
        self.by_clock = True
        raise _Timeout


@contextmanager
def _handle_signals(interruption: _Interruption, seconds: float | None = None) -> Iterator[None]:
    """Install the signal handlers, and the timer if the time is limited, and put back what was there.

    Signals interrupt Python code only. Code that never returns to Python has to run in a process of its own.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    has_limit = seconds is not None and has_timer()
    handlers: dict[int, Any] = {signal.SIGALRM: interruption.ring} if has_limit else {}
    for number in ENDING_SIGNALS:
        if get_handler(number) in (signal.default_int_handler, interrupt_run):
            handlers[number] = interruption.interrupt
    before = {number: set_handler(number, handler) for number, handler in handlers.items()}
    # The alarm repeats, because the step may catch what the first one raises.
    timer = signal.setitimer(signal.ITIMER_REAL, seconds or 0.0, MIN_TIMEOUT_SECONDS) if has_limit else None
    try:
        yield
    finally:
        interruption.step_ended = True
        if timer is not None:
            signal.setitimer(signal.ITIMER_REAL, *timer)
        for number, handler in before.items():
            set_handler(number, signal.SIG_IGN if interruption.ignores_more and handler is interrupt_run else handler)


def run_guarded(step: Callable[[], Any], seconds: float, settings: tuple[Setting, ...] = PROCESS_SETTINGS) -> Any:
    """Run a step and return its answer. Raise Refused or Fault for whatever it raises, but let a person interrupt the run.

    `settings` is the state of the process that the step must not change. What it has changed is put back, and is a Fault.
    """
    interruption = _Interruption()
    try:
        with warnings.catch_warnings(), _handle_signals(interruption, seconds), step_under_way.timed(seconds):
            warnings.simplefilter("ignore")  # warnings do not matter; only the result is judged
            state = ProcessState(settings)
            try:
                answer = step()
            finally:
                changed = state.restore()
    except BaseException as error:
        if interruption.by_person:
            raise KeyboardInterrupt(interruption.signal_name) from None
        raise (timeout_fault(seconds) if interruption.by_clock else as_fault(error)) from error
    if interruption.by_clock:
        raise timeout_fault(seconds)
    if changed:
        raise Fault(f"the call changed {changed[0]}", [("also", what) for what in changed[1:]])
    return answer


def run_loading(step: Callable[[], T]) -> T:
    """Run a step of loading a backend, and return its answer. Raise a Fault for what its code raises to end the program.

    That is SystemExit, GeneratorExit, or a KeyboardInterrupt that no person has caused.
    """
    interruption = _Interruption()
    try:
        with _handle_signals(interruption):
            answer = step()
    except BaseException as error:
        if interruption.by_person:
            raise KeyboardInterrupt(interruption.signal_name) from None
        if isinstance(error, Exception) or not find_place(error):
            raise
        raise as_fault(error) from error
    if interruption.by_person:
        raise KeyboardInterrupt(interruption.signal_name)
    return answer


def timeout_fault(seconds: float) -> Fault:
    """Return the Fault of a step that has not ended after this many seconds."""
    return Fault(f"no answer within {seconds:.3g} s (--time-limit)", timed_out=True)


def as_fault(error: BaseException) -> Exception:
    """Return the Refused or the Fault for an exception that a step has raised."""
    if type(error) is Fault:
        return error
    text = message_of(error)
    if isinstance(error, NotImplementedError):
        return Refused(text or "NotImplementedError")
    if missing := describe_missing_part(error):
        return Refused(missing)
    kind = type(error).__name__
    return Fault(f"the call raised {kind}{': ' if text else ''}{text}", raised=(kind, find_place(error)))


def find_place(error: BaseException) -> str:
    """Return where an exception was raised in the backend's code, as "file.py:12 in rope"; "" if none of it is Python.

    It is the innermost frame that belongs neither to this suite nor to an installed library. If there is none, a library is
    under test, and it is the library's innermost frame.
    """
    places = [(code, line) for code, line in _list_places(error) if not _is_suite(Path(code.co_filename))]
    own = [(code, line) for code, line in places if not _is_installed(Path(code.co_filename))]
    for code, line in reversed(own or places):
        return f"{Path(code.co_filename).name}:{line} in {code.co_name}"
    return ""


def _list_places(error: BaseException) -> list[tuple[CodeType, int]]:
    """Return the code and the line of each frame that has a file, the innermost last."""
    frames = traceback.walk_tb(error.__traceback__)
    return [(frame.f_code, line) for frame, line in frames if not frame.f_code.co_filename.startswith("<")]


def _is_suite(file: Path) -> bool:
    return SUITE in file.parents and SUITE / "backends" not in file.parents


def _is_installed(file: Path) -> bool:
    """Whether the file is of an installed library, or of Python itself."""
    is_library = {"site-packages", "dist-packages"} & set(file.parts)
    return bool(is_library) or any(folder in file.parents for folder in STANDARD_LIBRARY)
