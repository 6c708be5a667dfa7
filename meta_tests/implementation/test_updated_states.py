"""A state beside another result: code that updates it in place may return the other result alone, or both."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backends._numpy_states import causal_conv1d as return_both

from .test_several_results import violations


def write_state(*arrays: Any, **options: Any) -> Any:
    """Write to a given state, and return out alone; without a state return both."""
    given = arrays[3] if len(arrays) > 3 else options.get("state")
    out, state = return_both(*arrays, **options)
    if given is None:
        return out, state
    given[...] = state
    return out


def conv(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    return write_state(x, weight, bias, state, activation=activation)


def conv_and_state(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    result = write_state(x, weight, bias, state, activation=activation)
    return result if state is None else (result, state)


def conv_of_old_state(x: Any, weight: Any, bias: Any = None, state: Any = None, *, activation: str | None = None) -> Any:
    """Write another state than is returned."""
    out, after = return_both(x, weight, bias, state, activation=activation)
    if state is not None:
        state[...] = after + np.float32(1)
    return out, after


def source_of(function: Any, stated: str) -> Any:
    named = {"causal_conv1d": function, "conventions": {"cache_update": stated}}
    return SimpleNamespace(framework="numpy", dtypes=("float32",), **named)


@pytest.mark.parametrize(("function", "stated"), [(conv, "in place"), (conv_and_state, "in place"), (return_both, "returned")])
def test_each_way_to_update_a_state_is_right(function: Any, stated: str) -> None:
    assert violations(source_of(function, stated), "causal_conv1d") == {}


@pytest.mark.parametrize(("function", "stated"), [(conv, "returned"), (return_both, "in place")])
def test_an_update_must_be_what_the_backend_states(function: Any, stated: str) -> None:
    found = violations(source_of(function, stated), "causal_conv1d")
    assert any(f"where the backend states {stated}" in violation.what for violation in found.values())


def test_a_written_state_that_differs_from_the_returned_one_is_wrong() -> None:
    found = violations(source_of(conv_of_old_state, "in place"), "causal_conv1d")
    assert any("state was written to, and another array is returned" in violation.what for violation in found.values())
