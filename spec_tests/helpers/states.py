"""What a call in a state of the framework must give, as compared with the same call in none."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.operation import Operation
from ..calls.result import Result
from ..calls.violation import exceeds_bound
from ..implementation.states import AUTOCAST_DTYPE
from .assertions import assert_same, assert_true


def assert_dtypes(operation: Operation, call: Call, result: Any, *admitted: str) -> None:
    """Each result has a dtype that it has otherwise, or one of those that are admitted besides."""
    for name, x in operation.arrays_by_name(result).items():
        dtype, expected = operation.backend.framework.dtype_of(x), (*operation.expected_dtypes(name, call.keywords), *admitted)
        assert_true(dtype in expected, f"{name or 'the result'} is {dtype}", expected=" or ".join(expected))


def assert_conforms_in_autocast(operation: Operation, values: np.ndarray, plain: Result) -> None:
    """Each value is the plain one, or that of arithmetic in the dtype of autocast, any step of which may be stored so.

    Each argument may have been rounded to it or not. An operation that only selects numbers gives what it gives otherwise.
    """
    call = plain.call
    if operation.precision == "exact":
        assert_same(values, plain)
        return
    rounded = replace(operation, dtype=AUTOCAST_DTYPE).call(*call.arguments, **call.keywords)
    rounded.settle(call.conventions)
    operation.recorder.calls.remove(rounded)
    expectation = rounded.expectation("eager")
    unchanged = (values == plain.value) | (np.isnan(values) & np.isnan(plain.value))  # the other laws judge these
    accepted = unchanged | expectation.accepts(_round_to_storage(rounded, values))
    if not np.all(accepted):
        raise exceeds_bound(values, expectation, accepted, partial(operation.place, call))


def _round_to_storage(call: Call, values: np.ndarray) -> np.ndarray:
    """Return the values as the dtype of autocast stores them. Rounding is monotone: no right value leaves its interval."""
    return np.asarray(call.storage.round(values)) if values.dtype.kind == "f" else values
