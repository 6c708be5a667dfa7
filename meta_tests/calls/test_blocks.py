"""A large call is judged in blocks, as it is judged as a whole."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from meta_tests.bounds.test_bounds import operation
from spec_tests.calls.blocks import BLOCK_ELEMENTS, ExpectationOfBlocks
from spec_tests.calls.call import Call

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16).astype(np.float64)


LARGE: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "silu": ((normal(300_000),), {}),
    "rms_norm": ((normal(3, 700, 64), normal(64)), {"eps": 1e-5}),
    "softmax": ((normal(5, 40_000),), {"axis": -1}),
    "scaled_dot_product_attention": ((normal(24, 2, 32, 32),) * 3, {"mask": RNG.random((2, 32, 32)) < 0.9}),
    "rope": ((normal(40, 4, 130, 8), np.arange(130)), {"theta": 10_000.0}),
    "feed_forward": ((normal(3000, 16), normal(24, 16), normal(16, 24)), {"activation": "relu"}),
}
UNCUT: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "softmax along the batch": ((normal(5, 40_000),), {"axis": 0}),
    "linear": ((normal(4, 64), normal(5000, 64)), {}),
    "cross_entropy": ((normal(3000, 64), RNG.integers(0, 64, 3000)), {}),
    "logsumexp": ((normal(9, 12),), {"axis": -1}),
}


def draw(name: str, given: tuple[tuple[Any, ...], dict[str, Any]], dtype: str = "float32") -> Call:
    return operation(name.split(" ")[0], dtype).call(*given[0], **given[1])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", LARGE)
def test_blocks_accept_what_the_whole_accepts(name: str, dtype: str) -> None:
    """Answers beside the value, near both ends of the bound, and one wrong entry in the last block."""
    call = draw(name, LARGE[name], dtype)
    expectation = call.expectation("fused" if dtype == "float32" else "mixed")
    assert isinstance(expectation, ExpectationOfBlocks)
    whole = expectation.whole
    right, wrong = whole.storage.round(whole.value), whole.storage.round(whole.value)
    wrong.flat[-1] += 1.0
    assert np.all(expectation.accepts(right))
    assert np.array_equal(expectation.accepts(wrong), right == wrong)
    assert np.array_equal(expectation.claimed, whole.claimed)
    if not call.operation.spec.composed:  # sampled errors differ by their draws
        near = whole.storage.round(whole.value + whole.error * RNG.uniform(-1.5, 1.5, whole.value.shape))
        assert np.array_equal(expectation.accepts(near), whole.accepts(near))
        assert np.array_equal(expectation.share(near), whole.share(near))
        assert 0.1 < np.mean(expectation.accepts(near)) < 0.99


@pytest.mark.parametrize("name", UNCUT)
def test_calls_that_are_judged_as_a_whole(name: str) -> None:
    """Rows that are not independent, weights that are as large as all rows together, and small calls."""
    assert not isinstance(draw(name, UNCUT[name]).expectation("fused"), ExpectationOfBlocks)


def test_a_judged_call_takes_the_memory_of_a_block() -> None:
    call = draw("rms_norm", ((normal(40_000, 64), normal(64)), {"eps": 1e-5}))
    answer = call.storage.round(call.value * (1 + 2.0**-23))
    tracemalloc.start()
    assert np.all(call.expectation("fused").accepts(answer))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < call.value.nbytes + 60 * 8 * BLOCK_ELEMENTS  # the answer's truth values, and a few dozen arrays of a block
