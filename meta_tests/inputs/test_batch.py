"""Test `in_a_batch`, which gives a call a batch if it has none, and `alone`, which takes entries out of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.helpers.batch import batch_shape, draw_entry, ensure_batch, isolate_entry, take_entry
from spec_tests.inputs.draw import Draw
from spec_tests.specification.registry import has_named_batch, operations, specification
from spec_tests.trials.collection import invariants

from ..support.in_process import backend

(EMPTY_LAW,) = (test.invariant for test in invariants() if test.invariant.id == "operation.empty")


def split_results(call: Call) -> dict[str, np.ndarray]:
    """Return the oracle's value of each result by its name. That of a single one is ""."""
    return call.parts.split(call.value) if call.parts else {"": call.value}


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("name", [name for name in operations() if EMPTY_LAW.applies_to(name)])
def test_every_call_can_be_made_on_a_batch(name: str) -> None:
    operation = Operation(specification(name), backend("numpy-cpu"), "float32", "fused")
    calls_without_batch: list[Call] = []

    @settings(
        max_examples=40,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        draw = Draw(data.conjecture_data.draw_integer, operation)
        call = draw.call()
        batched = ensure_batch(call)
        assert batch_shape(batched)
        if not batch_shape(call):
            calls_without_batch.append(call)
            assert batch_shape(batched) == (2,)
            for name, result in split_results(batched).items():
                first, second = (take_entry(batched, name, result, (i,)) for i in range(2))
                assert call.chooses or np.allclose(first, second, equal_nan=True), "bits may differ in a product"
        for result in split_results(isolate_entry(batched, draw_entry(batched, draw), empty=True)).values():
            assert 0 in result.shape

    run()
    assert bool(calls_without_batch) != has_named_batch(operation.spec)


def test_a_bias_beside_scales_gets_their_batch() -> None:
    """One of scores is broadcast: it needs no batch."""
    operation = Operation(specification("dequantize"), backend("numpy-cpu"), "float32", "fused")
    one, block = np.ones((1, 1)), {"q_dtype": "uint4", "block": (1, 32), "dtype": "float32"}
    batched = ensure_batch(operation.call(one, one, bias=one, **block))
    assert [batched.named[name].shape for name in ("q", "scale", "bias")] == [(2, 1, 1)] * 3
    attention = Operation(specification("scaled_dot_product_attention"), backend("numpy-cpu"), "float32", "fused")
    assert ensure_batch(attention.call(one, one, one, bias=one)).named["bias"].shape == (1, 1)
