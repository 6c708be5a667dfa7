"""A slope at a kink is right either way, also if other roundings are as large as its effect when they are drawn larger."""

from __future__ import annotations

import numpy as np
import pytest

from spec_tests.bounds.random_rounding import RandomStream
from spec_tests.calls.result import Result
from spec_tests.calls.violation import Violation
from spec_tests.helpers.assertions import assert_conforms

from .test_bounds import operation

EFFECTS = 10.0 ** np.arange(-9, 1)  # beside gradients of about 1


def feed_forward_gradients(x: np.ndarray, w1: np.ndarray, w2: np.ndarray, slope_at_zero: float) -> tuple[np.ndarray, ...]:
    """Return the gradients of relu(x w1ᵀ) w2ᵀ, with a cotangent of ones and this slope of relu at 0."""
    before, cotangent = x @ w1.T, np.ones((x.shape[0], w2.shape[0]))
    dbefore = (cotangent @ w2) * np.where(before == 0, slope_at_zero, before > 0)
    return dbefore @ w1, dbefore.T @ x, cotangent.T @ np.maximum(before, 0)


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_either_slope_is_right_where_a_unit_is_at_zero(dtype: str, effect: float) -> None:
    random = np.random.default_rng(0)
    x, w1, w2 = np.tile([1.0, -1.0], (2, 8)), random.standard_normal((64, 16)), random.standard_normal((4, 64)) / 8
    w1[0], w2[:, 0] = 1.0, effect
    tested = operation("feed_forward_vjp", dtype)
    for slope in (0.0, 0.5, 1.0):
        call = tested.call(np.ones((2, 4)), x, w1, w2, activation="relu")
        rounded = [np.asarray(a, dtype).astype(float) for a in (x, w1, w2)]
        answer = zip(("x", "w1", "w2"), (a.astype(dtype) for a in feed_forward_gradients(*rounded, slope)), strict=True)
        assert_conforms(Result(tested.values(call, answer), call))


def test_a_slope_far_beyond_both_is_wrong() -> None:
    x, w1, w2 = np.array([[1.0, -1.0]]), np.ones((1, 2)), np.ones((1, 1))
    tested = operation("feed_forward_vjp", "float64")
    for slope in (-2.5, 2.5):
        call = tested.call(np.ones((1, 1)), x, w1, w2, activation="relu")
        answer = feed_forward_gradients(x, w1, w2, slope)
        with pytest.raises(Violation):
            assert_conforms(Result(tested.values(call, zip(("x", "w1", "w2"), answer, strict=True)), call))


def test_an_unlikely_sign_is_in_half_of_the_draws() -> None:
    """One draw in forty decides otherwise: code that rounds as it does has this sign each time."""
    decided = np.ones((40, 1), dtype=bool)
    decided[-1] = False
    drawn, certain = (RandomStream().either(c, np.ones(1), np.zeros(1)) for c in (decided, np.ones((40, 1), dtype=bool)))
    assert 10 < drawn.sum() < 30
    assert np.all(certain == 1)


def test_a_sum_of_subnormal_chunks_is_within_its_bound() -> None:
    """Each chunk is 1.5 times the smallest number of float16, and is rounded to twice this number."""
    chunks, quantum = 8, 2.0**-24
    x, weight, targets = np.full((chunks, 1), 2.0**-10), np.array([[0.0], [-7384.0]]), np.zeros(chunks, dtype=int)
    call = operation("linear_cross_entropy_vjp", "float16").call(np.array(1.0), x, weight, targets)
    each = float(np.float16(call.value[-1] / chunks))
    assert call.value[-1] / chunks == pytest.approx(1.5 * quantum, rel=0.02)
    assert each == 2 * quantum
    assert call.expectation("mixed").accepts(np.array([*call.value[:-1], chunks * each]))[-1]
    assert not call.expectation("fused").accepts(np.array([*call.value[:-1], chunks * each]))[-1]
