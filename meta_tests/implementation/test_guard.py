"""Steps of a backend that are run under guard, in the suite's own process."""

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError
from types import ModuleType

import numpy as np
import pytest

from spec_tests.implementation.framework import Foreign, Framework
from spec_tests.implementation.guard import Fault, Refused, run_guarded
from spec_tests.implementation.printable import message_of
from spec_tests.implementation.process_state import PROCESS_SETTINGS, ProcessState, framework_settings


class InterpreterError(Exception):
    """As Triton has it."""


def make_raising_step(error: BaseException) -> Callable[[], None]:
    def step() -> None:
        raise error

    return step


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), RecursionError("deep"), MemoryError(), GeneratorExit()])
def test_whatever_is_raised_is_a_fault(error: BaseException) -> None:
    with pytest.raises(Fault, match=f"^the call raised {type(error).__name__}"):
        run_guarded(make_raising_step(error), 5.0)


def test_not_implemented_is_a_refusal() -> None:
    with pytest.raises(Refused, match="next week"):
        run_guarded(make_raising_step(NotImplementedError("next week")), 5.0)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModuleNotFoundError("No module named 'mine'", name="mine"), "^it imports 'mine', which is not installed here"),
        (PackageNotFoundError("mine"), "^it asks for the version of the package mine, which is not installed here"),
        (InterpreterError("TypeError(\"cannot convert None of type <class 'NoneType'> to tensor\")"), "^Triton's interpreter"),
        (AssertionError("Torch not compiled with CUDA enabled"), "^it asks for a CUDA device, and there is none here"),
        (ValueError("Expected a cuda device, but got: cpu"), "^it takes arrays of a CUDA device alone, and was given others"),
    ],
)
def test_what_the_environment_lacks_is_a_refusal(error: Exception, words: str) -> None:
    with pytest.raises(Refused, match=words):
        run_guarded(make_raising_step(error), 5.0)


def test_a_person_may_interrupt() -> None:
    def step() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests with SIGINT ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            run_guarded(step, 60.0)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_clock_ends_what_catches_it_once() -> None:
    def step() -> str:
        try:
            time.sleep(30)
        except BaseException:  # as some code does
            return "an answer, late"
        return ""

    with pytest.raises(Fault, match=r"^no answer within 0\.2 s \(--time-limit\)$") as fault:
        run_guarded(step, 0.2)
    assert fault.value.timed_out
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_thread_has_no_clock_and_still_an_answer() -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(run_guarded(lambda: 7, 0.1)))
    thread.start()
    thread.join()
    assert found == [7]


def test_what_a_framework_cannot_tell_is_not_asked() -> None:
    """jax.default_device makes contexts and is no setting. Even asking whether it is true raises."""

    class State:
        def __bool__(self) -> bool:
            raise TypeError("bool() not supported for instances of type 'State'")

    unreadable, readable = ModuleType("silent"), ModuleType("telling")
    unreadable.default_device = State()  # type: ignore[attr-defined]
    readable.default_device, readable.set_default_device = (lambda: "cpu"), print  # type: ignore[attr-defined]
    assert [setting.name for setting in framework_settings(unreadable, readable)] == ["telling's default_device"]


@pytest.fixture
def restore_state() -> Iterator[None]:
    """Put back the state of the process after the test."""
    state = ProcessState()
    yield
    state.restore()


CHANGES: dict[str, Callable[[], object]] = {
    "NumPy's error state": lambda: np.seterr(all="raise"),
    "NumPy's print options": lambda: np.set_printoptions(precision=2),
    "the working directory": lambda: os.chdir("/"),
    "the recursion limit": lambda: sys.setrecursionlimit(sys.getrecursionlimit() - 1),
    "the profile function": lambda: sys.setprofile(lambda *_: None),
    "sys.stderr": lambda: setattr(sys, "stderr", None),
    "the handler of SIGTERM": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "the handler of SIGALRM": lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.usefixtures("restore_state")
def test_what_a_call_changes_is_told_and_put_back(name: str) -> None:
    (setting,) = [setting for setting in PROCESS_SETTINGS if setting.name == name]
    before = setting.get()
    with pytest.raises(Fault, match=f"^the call changed {name}"):
        run_guarded(CHANGES[name], 5.0)
    assert setting.get() == before


@pytest.mark.usefixtures("restore_state")
def test_what_raises_leaves_nothing_changed_either() -> None:
    def step() -> None:
        np.seterr(all="raise")
        warnings.simplefilter("error")
        raise ValueError

    before, filters = np.geterr(), list(warnings.filters)
    with pytest.raises(Fault, match="ValueError"):
        run_guarded(step, 5.0)
    assert np.geterr() == before
    assert list(warnings.filters) == filters


# --- objects ----------------------------------------------------------------------------------------------------------


class Odd:
    """An object that claims to be an array, and raises SystemExit if it is touched."""

    def __getattr__(self, name: str) -> object:
        raise SystemExit

    def __repr__(self) -> str:
        raise SystemExit

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ndarray


class Derived(np.ndarray):
    pass


def test_what_is_no_array_is_its_description_alone() -> None:
    numpy = Framework("numpy")
    x = np.ones(2)
    assert numpy.describe_foreign([Odd(), x, 3])[0] == Foreign("a Odd")
    assert repr(Foreign("a Odd")) == "a Odd"  # as messages have it
    assert numpy.describe_foreign([Odd(), x, 3])[1] is x
    assert numpy.describe_foreign({"a": (Odd(),)}) == {"a": (Foreign("a Odd"),)}
    assert numpy.describe_foreign(x.view(Derived)) == Foreign("a Derived (derived from numpy's)")
    assert numpy.is_array(np.float32(1))
    assert not numpy.is_array(Odd())


def test_pytorch_s_list_of_the_forms_of_a_call_is_left_out() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError) as raised:
        torch.where(None, torch.zeros(2), float("-inf"))
    assert "\n" in str(raised.value)
    assert message_of(raised.value) == ("where() received an invalid combination of arguments - got (NoneType, Tensor, float)")
