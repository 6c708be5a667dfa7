"""The place of a call among the calls of its operation, by which state that a backend keeps is described."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from spec_tests.calls.operation import Operation
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.registry import specification


def make() -> Operation:
    source = SimpleNamespace(linear=lambda x, weight: x @ weight.T)
    return Operation(specification("linear"), Backend("mine", source, Framework("numpy")), "float64", "fused")


def test_calls_are_counted_by_their_shapes() -> None:
    tested = make()
    for rows, width in ((2, 3), (2, 3), (5, 3), (2, 4), (2, 3)):
        tested(np.ones((rows, width)), np.ones((6, width)))
    facts = [call.history for call in tested.recorder.calls]
    assert [f["calls before"] for f in facts] == [0, 1, 2, 3, 4]
    assert [f["calls before with these shapes"] for f in facts] == [0, 1, 0, 0, 2]
    assert [f["the call before had these shapes"] for f in facts] == [False, True, False, False, False]
    assert [f["a wider call came before"] for f in facts] == [False, False, False, False, True]
    assert [f["calls before with weight of this shape"] for f in facts] == [0, 1, 2, 0, 3]
    assert [f["calls before with a result of this shape"] for f in facts] == [0, 1, 0, 2, 3]
    assert [f["the call before had a result of this shape"] for f in facts] == [False, True, False, False, True]


def test_operations_and_dtypes_are_counted_apart() -> None:
    tested = make()
    tested(np.ones((2, 3)), np.ones((6, 3)))
    narrow = Operation(tested.spec, tested.backend, "float32", "fused")
    narrow(np.ones((2, 3)), np.ones((6, 3)))
    (call,) = narrow.recorder.calls
    assert call.history["calls before"] == 1
    assert call.history["calls before with these shapes"] == 0
    assert call.history["calls before with a result of this shape"] == 0
