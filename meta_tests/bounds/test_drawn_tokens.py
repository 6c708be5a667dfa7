"""A token that a noise draws is right where roundings may draw it, and no other is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec_tests.calls.operation import Operation
from spec_tests.calls.result import Result
from spec_tests.calls.violation import Violation
from spec_tests.helpers.assertions import assert_conforms
from spec_tests.specification.registry import specification

from ..support.in_process import backend


def answer(p: Any, noise: Any, token: Any, method: str, dtype: str = "float32") -> Result:
    """Return the result of a call that was answered with these tokens."""
    operation = Operation(specification("sample_with_noise"), backend("numpy-cpu"), dtype, "fused")
    call = operation.call(np.asarray(p, dtype=float), np.asarray(noise, dtype=float), method=method)
    return Result(operation.values(call, np.asarray(token)), call)


def conforms(result: Result) -> bool:
    try:
        assert_conforms(result)
    except Violation:
        return False
    return True


@pytest.mark.parametrize(
    ("method", "p", "noise", "right"),
    [
        ("inverse", [0.25, 0.25, 0.5], 0.3, [1]),
        ("inverse", [0.25, 0.25, 0.5], 0.25, [0, 1]),
        ("inverse", [0.25, 0.25, 0.5], 0.25 + 2.0**-21, [0, 1]),
        ("inverse", [0.25, 0.25, 0.5], 0.25 + 2.0**-20, [1]),
        ("inverse", [0.25, 0.0, 0.75], 0.25, [0, 2]),
        ("inverse", [0.0, 0.5, 0.5], 0.0, [1]),
        ("inverse", [0.5, 0.5, 0.0], 1 - 2.0**-24, [1]),
        ("inverse", [1.0], 0.5, [0]),
        ("exponential", [0.5, 0.5, 0.0], [1.0, 1.0, 2.0**-100], [0, 1]),
        ("exponential", [0.5, 0.5, 0.0], [1.0, 1 + 2.0**-23, 1.0], [0, 1]),
        ("exponential", [0.5, 0.5, 0.0], [1.0, 1 + 2.0**-20, 1.0], [0]),
        ("gumbel", [0.5, 0.5, 0.0], [0.0, 2.0**-22, 40.0], [0, 1]),
        ("gumbel", [0.5, 0.5, 0.0], [0.0, 2.0**-18, 40.0], [1]),
        ("gumbel", [0.25, 0.5, 0.25], [0.7, 0.0, 0.0], [0]),
    ],
)
def test_which_tokens_roundings_draw(method: str, p: Any, noise: Any, right: list[int]) -> None:
    assert [token for token in range(-1, len(p) + 1) if conforms(answer([p], [noise], [token], method))] == right
    assert np.all(answer([p], [noise], right[:1], method).call.expectation("fused").open) == (len(right) > 1)


def test_each_row_is_judged_by_its_own_token() -> None:
    p, noise = [[0.25, 0.75]] * 3, [0.25, 0.25, 0.5]
    assert conforms(answer(p, noise, [0, 1, 1], "inverse"))
    assert not conforms(answer(p, noise, [0, 1, 0], "inverse"))


def test_float64_has_roundings_of_its_own() -> None:
    assert conforms(answer([[0.25, 0.75]], [0.25 + 2.0**-51], [0], "inverse", "float64"))
    assert not conforms(answer([[0.25, 0.75]], [0.25 + 2.0**-40], [0], "inverse", "float64"))


def test_a_method_decides_which_axes_of_the_noise_are_batch() -> None:
    operation = Operation(specification("sample_with_noise"), backend("numpy-cpu"), "float32", "fused")
    p = np.full((3, 5, 4), 0.25)
    for method, shape in (("inverse", (3, 5)), ("gumbel", (3, 5, 4))):
        noise = np.full(shape, 0.5)
        got = operation(p, noise, method=method)
        assert got.value.shape == (3, 5)
