"""A step of the backend's under guard, in one process with the suite."""

import math
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from spec_tests.implementation.framework import Foreign, Framework
from spec_tests.implementation.guard import Fault, Refused, run_guarded
from spec_tests.implementation.lookup import BackendError
from spec_tests.implementation.process_state import PROCESS, ProcessState, framework_settings
from spec_tests.isolation.tampering import PatchDetector
from spec_tests.running.session import Session

from ..support.paths import ROOT
from ..support.pytest_process import NUMPY, RELU, environment, suite, write


def raising(error: BaseException) -> Callable[[], None]:
    def step() -> None:
        raise error

    return step


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), RecursionError("deep"), MemoryError(), GeneratorExit()])
def test_whatever_is_raised_is_a_fault(error: BaseException) -> None:
    with pytest.raises(Fault, match=f"^the call raised {type(error).__name__}"):
        run_guarded(raising(error), 5.0)


def test_not_implemented_is_a_refusal() -> None:
    with pytest.raises(Refused, match="next week"):
        run_guarded(raising(NotImplementedError("next week")), 5.0)


def test_a_person_may_interrupt() -> None:
    def step() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started these tests with it ignored
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
        except BaseException:  # as some do
            return "an answer, late"
        return ""

    with pytest.raises(Fault, match=r"^no answer within 0\.2 s \(--time-limit\)$") as fault:
        run_guarded(step, 0.2)
    assert fault.value.late
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_thread_has_no_clock_and_still_an_answer() -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(run_guarded(lambda: 7, 0.1)))
    thread.start()
    thread.join()
    assert found == [7]


def test_what_a_framework_cannot_tell_is_not_asked() -> None:
    """jax.default_device makes contexts, and may not even be taken for true or false."""

    class State:
        def __bool__(self) -> bool:
            raise TypeError("bool() not supported for instances of type 'State'")

    silent, telling = ModuleType("silent"), ModuleType("telling")
    silent.default_device = State()  # type: ignore[attr-defined]
    telling.default_device, telling.set_default_device = (lambda: "cpu"), print  # type: ignore[attr-defined]
    assert [piece.name for piece in framework_settings(silent, telling)] == ["telling's default_device"]


@pytest.fixture
def kept() -> Iterator[None]:
    surroundings = ProcessState()
    yield
    surroundings.restore()


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
@pytest.mark.usefixtures("kept")
def test_what_a_call_changes_is_told_and_put_back(name: str) -> None:
    (piece,) = [piece for piece in PROCESS if piece.name == name]
    before = piece.get()
    with pytest.raises(Fault, match=f"^the call changed {name}"):
        run_guarded(CHANGES[name], 5.0)
    assert piece.get() == before


@pytest.mark.usefixtures("kept")
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
    assert numpy.describe_foreign([Odd(), x, 3])[1] is x
    assert numpy.describe_foreign({"a": (Odd(),)}) == {"a": (Foreign("a Odd"),)}
    assert numpy.describe_foreign(x.view(Derived)) == Foreign("a Derived (derived from numpy's)")
    assert numpy.is_array(np.float32(1))
    assert not numpy.is_array(Odd())


# --- what it replaces -------------------------------------------------------------------------------------------------


def test_what_is_replaced_is_told_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from spec_tests.bounds.expectation import Expectation

    integrity, body = PatchDetector(), Expectation.accepts.__code__
    assert integrity.restore() == []
    monkeypatch.delattr(math, "erf")
    monkeypatch.setattr(np, "all", lambda *_: True)
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    Expectation.accepts.__code__ = (lambda self, result: True).__code__
    method = "spec_tests.bounds.expectation.Expectation.accepts"
    assert integrity.restore() == ["math.erf", "numpy.all", "time.monotonic", method]
    assert Expectation.accepts.__code__ is body
    assert integrity.restore() == []


def test_what_anothers_fixture_replaces_is_no_backends_doing(tmp_path: Path) -> None:
    fixture = "@pytest.fixture(autouse=True)\ndef quick(monkeypatch): monkeypatch.setattr('time.sleep', lambda seconds: None)\n"
    (tmp_path / "theirs.py").write_text(f"import pytest\n\n{fixture}")
    write(tmp_path, mine=NUMPY + RELU)
    run = suite(
        tmp_path, "-p", "theirs", "--backend=mine.py", "-k", "relu.reference or relu.rectifies", env=environment(ROOT, tmp_path)
    )
    assert run.code == 0, run.text


def test_a_backend_that_replaces_something_is_refused(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "allclose", np.allclose)  # to be put back
    (tmp_path / "mine.py").write_text("import numpy as np\nnp.allclose = print\nframework = 'numpy'\ndef relu(x): return x\n")
    session = Session((), tmp_path, (), None, (), frozenset())
    with pytest.raises(BackendError, match=r"importing it replaced numpy\.allclose, on which its verdicts depend; --isolate"):
        session._load("mine.py")
