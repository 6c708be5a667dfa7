"""The states in which laws call a framework, and the settings of a process that a call must leave as they are."""

from __future__ import annotations

import locale
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.guard import Fault, Refused, as_fault, timeout_fault
from spec_tests.implementation.process_state import (
    MAX_DESCRIBED_CHARACTERS,
    PROCESS_SETTINGS,
    ProcessState,
    Setting,
    device_settings,
    framework_settings,
)
from spec_tests.implementation.states import (
    ALL_PARAMETERS,
    AUTOCAST,
    CALL_STATES,
    DEFAULT_DTYPES,
    GRADIENT_STATES,
    INFERENCE,
    NOT_LEAVES,
    PARAMETERS,
    enter_state,
    has_states,
    make_inputs,
    some_alone,
)


class Framework(SimpleNamespace):
    """A module with PyTorch's names that keeps what is entered."""

    def __init__(self) -> None:
        super().__init__(float64="float64", bfloat16="bfloat16")
        self.inside: list[str] = []
        self.default = "float32"
        self.nn = SimpleNamespace(Parameter=lambda x: Tensor(x.name, is_leaf=True, needs=True, is_parameter=True))

    @contextmanager
    def enter(self, what: str) -> Iterator[None]:
        self.inside.append(what)
        yield
        self.inside.pop()

    def no_grad(self) -> Any:
        return self.enter("no_grad")

    def inference_mode(self) -> Any:
        return self.enter("inference")

    def autocast(self, device: str, dtype: str) -> Any:
        return self.enter(f"autocast {device} {dtype}")

    def get_default_dtype(self) -> str:
        return self.default

    def set_default_dtype(self, dtype: str) -> None:
        self.default = dtype


class Tensor:
    """What an array of such a module tells of itself."""

    def __init__(self, name: str, *, is_leaf: bool = True, needs: bool = False, is_parameter: bool = False) -> None:
        self.name, self.is_leaf, self.needs, self.is_parameter = name, is_leaf, needs, is_parameter

    def detach(self) -> Tensor:
        return Tensor(self.name)

    def requires_grad_(self) -> Tensor:
        self.needs = True
        return self

    def clone(self) -> Tensor:
        return Tensor(self.name, is_leaf=False, needs=self.needs)


@pytest.mark.parametrize(
    ("state", "inside"),
    [("no_grad", ["no_grad"]), (INFERENCE, ["inference"]), (AUTOCAST, ["autocast cuda bfloat16"]), (PARAMETERS, []), ("", [])],
)
def test_a_state_is_entered_and_left(state: str, inside: list[str]) -> None:
    module = Framework()
    with enter_state(module, "cuda:1", state):
        assert module.inside == inside
    assert module.inside == []


@pytest.mark.parametrize(("state", "dtype"), DEFAULT_DTYPES.items())
def test_a_default_dtype_is_put_back_also_after_an_exception(state: str, dtype: str) -> None:
    module = Framework()
    with pytest.raises(KeyError), enter_state(module, "cpu", state):  # noqa: PT012
        assert module.default == dtype
        raise KeyError
    assert module.default == "float32"


def test_a_framework_has_states_if_it_has_each_function() -> None:
    assert has_states(Framework())
    for name in ("no_grad", "inference_mode", "autocast", "get_default_dtype", "set_default_dtype"):
        module = Framework()
        setattr(module, name, None)
        assert not has_states(module)


@pytest.mark.parametrize(
    ("state", "needs", "parameters", "leaves", "places"),
    [
        ("", [True, True, True], [False, False, False], True, [0, 1, 2]),
        (PARAMETERS, [True, True, True], [False, True, True], True, [0, 1, 2]),
        (ALL_PARAMETERS, [True, True, True], [True, True, True], True, [0, 1, 2]),
        (NOT_LEAVES, [True, True, True], [False, False, False], False, [0, 1, 2]),
        (some_alone([0, 2]), [True, False, True], [False, False, True], True, [0, 2]),
        (some_alone([1]), [False, True, False], [False, True, False], True, [1]),
    ],
)
def test_the_arguments_of_a_graph(state: str, needs: list[bool], parameters: list[bool], leaves: bool, places: list[int]) -> None:
    given = [Tensor("x", needs=True), Tensor("a"), Tensor("b")]
    made, found = make_inputs(Framework(), given, state)
    assert [x.name for x in made] == ["x", "a", "b"]
    assert [x.needs for x in made] == needs
    assert [x.is_parameter for x in made] == parameters
    assert all(x.is_leaf is leaves for x in made)
    assert found == places


def test_the_states_are_listed_once() -> None:
    assert len({*CALL_STATES, *GRADIENT_STATES}) == len(CALL_STATES) + len(GRADIENT_STATES) - len(DEFAULT_DTYPES)
    assert some_alone([2, 0]) == "only arrays 0, 2 have a gradient"


# --- faults ----------------------------------------------------------------------------------------------------------


def test_a_timeout_says_how_long_it_waited() -> None:
    fault = timeout_fault(2.5)
    assert (str(fault), fault.timed_out, fault.lost) == ("no answer within 2.5 s (--time-limit)", True, False)


def test_what_a_step_raises_is_a_fault_or_a_refusal() -> None:
    refused = as_fault(NotImplementedError("not today"))
    assert (type(refused), str(refused)) == (Refused, "not today")
    assert str(as_fault(NotImplementedError())) == "NotImplementedError"
    raised = as_fault(KeyError("a"))
    assert isinstance(raised, Fault)
    assert (str(raised), raised.raised) == ("the call raised KeyError: 'a'", ("KeyError", ""))
    kept = Fault("it is lost", lost=True)
    assert as_fault(kept) is kept


# --- the state of a process ------------------------------------------------------------------------------------------


def test_every_setting_of_the_process_is_recorded_and_can_be_put_back() -> None:
    names = [setting.name for setting in PROCESS_SETTINGS]
    assert {
        "NumPy's error state", "NumPy's print options", "the processor's floating-point mode", "the working directory",
        "the locale", "the recursion limit",
        "the trace function", "the profile function", "sys.stdout", "sys.stderr", "the handler of SIGINT",
        "the handler of SIGALRM",
    } <= {*names}  # fmt: skip
    for setting in PROCESS_SETTINGS:
        before = setting.get()
        setting.set(before)
        now = setting.get()
        assert now is before or now == before, setting.name


def test_what_changes_is_told_and_put_back_and_nothing_else(tmp_path: Any) -> None:
    state, folder = ProcessState(), os.getcwd()
    assert state.restore() == []
    try:
        np.seterr(over="raise")
        os.chdir(tmp_path)
        told = state.restore()
    finally:
        os.chdir(folder)
        np.seterr(over="warn")
    assert [text.partition(" from ")[0] for text in told] == ["NumPy's error state", "the working directory"]
    assert told[0] == "NumPy's error state from {'over': 'warn'} to {'over': 'raise'}"
    assert state.restore() == []
    assert sys.getrecursionlimit() > 0
    assert signal.getsignal(signal.SIGTERM) is not None
    assert locale.setlocale(locale.LC_ALL)


def make_setting(values: dict[str, Any], name: str) -> Setting:
    return Setting(name, lambda: values[name], lambda value: values.__setitem__(name, value))


def test_a_setting_that_cannot_be_put_back_is_still_told() -> None:
    values: dict[str, Any] = {"a": 1, "b": 2}

    def refuse(value: Any) -> None:
        raise ValueError

    state = ProcessState((Setting("a", lambda: values["a"], refuse), make_setting(values, "b")))
    values.update(a=7, b=8)
    assert state.restore() == ["a from 1 to 7", "b from 2 to 8"]
    assert values == {"a": 7, "b": 2}


def test_a_long_difference_is_not_shown() -> None:
    values = {"a": "x"}
    state = ProcessState((make_setting(values, "a"),))
    longest = MAX_DESCRIBED_CHARACTERS - len(" from 'x' to ''")
    values["a"] = "y" * longest
    assert state.restore() == [f"a from 'x' to '{'y' * longest}'"]
    values["a"] = "y" * (longest + 1)
    assert state.restore() == ["a"]
    values["a"] = "y"
    assert state.restore() == ["a from 'x' to 'y'"]


def test_the_settings_of_a_framework_are_those_that_can_be_read_and_written() -> None:
    module, values = ModuleType("torchlike"), {"dtype": "float32", "grad": True}
    module.get_default_dtype = lambda: values["dtype"]  # type: ignore[attr-defined]
    module.set_default_dtype = lambda x: values.update(dtype=x)  # type: ignore[attr-defined]
    module.is_grad_enabled = lambda: values["grad"]  # type: ignore[attr-defined]
    module.set_grad_enabled = lambda x: values.update(grad=x)  # type: ignore[attr-defined]
    module.get_num_threads = lambda: 1  # type: ignore[attr-defined]
    found = framework_settings(module, module)
    assert [setting.name for setting in found] == ["torchlike's default_dtype", "torchlike's grad_enabled"]
    state = ProcessState(found)
    values.update(dtype="float64", grad=False)
    changes = ["torchlike's default_dtype from 'float32' to 'float64'", "torchlike's grad_enabled from True to False"]
    assert state.restore() == changes
    assert values == {"dtype": "float32", "grad": True}


def test_the_default_device_is_the_one_that_torch_tells() -> None:
    torch = pytest.importorskip("torch")
    (setting,) = (setting for setting in framework_settings(torch) if setting.name == "torch's default_device")
    before = setting.get()
    assert before == torch.get_default_device()
    with torch.device("meta"):
        assert setting.get() == torch.get_default_device() == torch.device("meta")
    torch.set_default_device("meta")
    try:
        assert ProcessState((setting,)).values == [torch.get_default_device()] == [torch.device("meta")]
    finally:
        setting.set(before)
    assert torch.get_default_device() == before


def test_a_device_s_stream_is_put_back_before_the_device() -> None:
    module, values = ModuleType("torch.cuda"), {"stream": "s0", "device": 0}
    assert device_settings(module, "cuda:0") == ()
    module.current_stream = lambda place: values["stream"]  # type: ignore[attr-defined]
    module.set_stream = lambda stream: values.update(stream=stream, device=9)  # type: ignore[attr-defined]
    module.current_device = lambda: values["device"]  # type: ignore[attr-defined]
    module.set_device = lambda device: values.update(device=device)  # type: ignore[attr-defined]
    state = ProcessState(device_settings(module, "cuda:0"))
    values.update(stream="s1", device=0)
    assert len(state.restore()) == 2
    assert values == {"stream": "s0", "device": 0}
