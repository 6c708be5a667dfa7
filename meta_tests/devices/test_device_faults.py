"""Faults of kernels that depend on memory, work under way, chance or few bits get the sentence that was written down before."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from spec_tests.diagnosis.places import Place, describe_places, format_ordinal
from spec_tests.diagnosis.precision.operands import AwayFromZero, list_candidates
from spec_tests.implementation.backend import build_backend
from spec_tests.implementation.framework import Framework
from spec_tests.implementation.free_memory import can_fill_with_nan, filled_with_nan
from spec_tests.specification.registry import operations
from spec_tests.specification.work import unlimited
from spec_tests.trials.circumstances import find_circumstance
from spec_tests.trials.trial import Trial

from ..measure.device_faults import FILE, try_fault
from ..support.device_faults import DEVICE, FAULTS, cut, right_gelu, round_away
from ..support.fake_device import NAME
from ..support.rotation import rotate

LEAST = 25  # faults, of which so large a share must be explained rightly, and none wrongly
SHARE = 0.8


def read_verdicts() -> dict[str, str]:
    """Return the verdict on each fault of the committed table."""
    return dict(re.findall(r"^(\w+): ([\w ]+)$", FILE.read_text(), re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize("name", rotate(FAULTS, 8))
def test_a_fault_is_explained_as_the_table_says(name: str) -> None:
    outcome = try_fault(name)
    assert outcome.verdict == read_verdicts()[name], (outcome.claims, outcome.symptoms)


def test_the_table_has_every_fault_and_none_is_explained_wrongly() -> None:
    verdicts = read_verdicts()
    assert verdicts.keys() == FAULTS.keys()
    assert len(verdicts) >= LEAST
    assert set(verdicts.values()) <= {"right", "true but another", "unexplained"}
    assert list(verdicts.values()).count("right") >= SHARE * len(verdicts)


RIGHT: dict[str, Any] = {
    "linear": lambda x, weight, bias=None: torch.nn.functional.linear(x, weight, bias),
    "softmax": lambda x, *, axis: torch.softmax(x, axis),
    "gelu": lambda x, *, approximate="none": right_gelu(x, approximate),
}
WRONG: dict[str, Any] = {
    "linear": lambda x, weight, bias=None: 1.5 * torch.nn.functional.linear(x, weight, bias),
    "softmax": lambda x, *, axis: torch.softmax(2 * x, axis),
    "gelu": lambda x, *, approximate="none": right_gelu(x, approximate).abs(),
}


def make_call(function: Any, operation: str, device: str | None) -> Any:
    """Return a call of a backend that has this function, answered."""
    source = SimpleNamespace(framework="torch", dtypes=("float32",), device=device, **{operation: function})
    under_test = Trial(build_backend(source, set(operations())), "float32").operation(operation)
    rng = np.random.default_rng(3)
    arrays = [
        rng.normal(size=shape).astype(np.float32).astype(float)
        for shape in ([(5, 7), (3, 7)] if operation == "linear" else [(5, 7)])
    ]
    call = under_test.call(*arrays, **({"axis": -1} if operation == "softmax" else {}))
    under_test.values(call, under_test.run(call))
    return call


@pytest.mark.parametrize("device", [None, DEVICE])
@pytest.mark.parametrize("operation", RIGHT)
def test_circumstances_are_blamed_for_nothing_else(operation: str, device: str | None) -> None:
    """Neither a right function nor one that is wrong in the same way each time depends on anything but its arguments."""
    for functions in (RIGHT, WRONG):
        call = make_call(functions[operation], operation, device)
        wrong = [call] if functions is WRONG else []
        assert find_circumstance(wrong, [], [call], unlimited(call.operation.backend.meter)) is None


def test_a_circumstance_costs_no_call_after_the_budget_is_spent() -> None:
    call = make_call(FAULTS["vectors_of_16_bytes"].function, "sigmoid", None)
    spent = unlimited(call.operation.backend.meter).limited_to(0)
    assert find_circumstance([], [], [call], unlimited(call.operation.backend.meter)) is not None
    assert find_circumstance([], [], [call], spent) is None


def test_free_memory_is_filled_and_the_settings_are_put_back() -> None:
    framework = Framework("torch")
    assert can_fill_with_nan(framework)
    assert not can_fill_with_nan(Framework("numpy"))
    with filled_with_nan(framework):
        assert torch.empty(100).isnan().all()
    assert not torch.are_deterministic_algorithms_enabled()
    with filled_with_nan(Framework("numpy")):
        pass


@pytest.mark.parametrize("bits", [7, 10])
def test_roundings_are_those_of_the_bits(bits: int) -> None:
    x = np.random.default_rng(2).normal(size=4000).astype(np.float32)
    x[::2] = cut(torch.from_numpy(x[::2].copy()), bits + 1).numpy()  # every second of which is a tie
    formats = {type(c.format): c.format for c in list_candidates() if c.format.precision == bits + 1 and c.format.emin == -126}
    given = torch.from_numpy(x)
    for kind, by_bits in ((AwayFromZero, round_away), (type(formats[AwayFromZero]), round_away)):
        assert np.array_equal(formats[kind].round(x), by_bits(given, bits).numpy())
    (truncating,) = (f for kind, f in formats.items() if kind.__name__ == "Truncating")
    assert np.array_equal(truncating.round(x), cut(given, bits).numpy())


def test_places_in_words() -> None:
    assert [format_ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 32, 103, 112)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "32nd", "103rd", "112th",
    ]  # fmt: skip
    assert np.flatnonzero(Place(block=4).holds(10)).tolist() == [8, 9]
    assert np.flatnonzero(Place(first=8).holds(10)).tolist() == [8, 9]
    tails = [(Place(block=4).holds(size), (size,)) for size in (5, 6, 7, 9, 10, 11)]
    assert describe_places(tails) == "the last elements of the result in memory, after whole blocks of 4, are"
    assert describe_places(tails[:2]) == "the last elements of the result in memory are"
    assert describe_places([(np.arange(12) >= 9, (4, 3))]) == "the last row of the result is"
    assert describe_places([(np.arange(12) == 5, (4, 3))]) == "some elements of the result are"


def test_arguments_that_are_still_written_are_laid_out_on_devices_alone() -> None:
    from spec_tests.implementation.layouts import LAYOUTS, UNFINISHED
    from spec_tests.test_every_operation import _list_layouts

    for device, expected in ((None, LAYOUTS[1:]), (f"{NAME}:1", (*LAYOUTS[1:], UNFINISHED))):
        assert _list_layouts(make_call(RIGHT["gelu"], "gelu", device).operation) == expected
    framework = Framework("torch", DEVICE)
    for dtype, values in (("float32", [1.5, -2.0]), ("bool", [True, False]), ("int64", [3, 4])):
        assert framework.numpy(framework.lay_out(np.array(values), dtype, UNFINISHED)).tolist() == values
