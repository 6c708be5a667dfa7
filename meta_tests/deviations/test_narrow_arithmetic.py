"""Sums in 16 bits are named whatever their blocks are, and only where the same calls in float32 are right."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.diagnosis.evidence import Evidence, is_wrong
from spec_tests.diagnosis.explanation import Explanation
from spec_tests.diagnosis.precision.sums import find_narrow_arithmetic
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.registry import specification

from ..support.pytest_process import suite, write

FULL = ("float32", "float16")  # the dtypes that a backend takes
Linear = Callable[[Any, Any], Any]


def exactly(x: Any, weight: Any) -> Any:
    return (x.astype(np.float64) @ weight.astype(np.float64).T).astype(x.dtype)


def in_parts(x: Any, weight: Any, parts: int = 5) -> Any:
    """The features are divided into parts, whose sums are stored and added in the dtype of x."""
    return sum(exactly(*pair) for pair in zip(np.array_split(x, parts, -1), np.array_split(weight, parts, -1), strict=True))


def with_rounded_products(x: Any, weight: Any) -> Any:
    return np.sum((x[..., None, :] * weight).astype(np.float64), axis=-1).astype(x.dtype)


def without_the_last_feature(x: Any, weight: Any) -> Any:
    return exactly(x[..., :-1], weight[:, :-1])


def cut_off(x: Any, weight: Any) -> Any:
    """The digits that float16 does not have are cut off."""
    y = exactly(x, weight).astype(np.float64)
    exact = x.astype(np.float64) @ weight.astype(np.float64).T
    return np.where(np.abs(y) > np.abs(exact), np.nextafter(y.astype(x.dtype), x.dtype.type(0)), y).astype(x.dtype)


def answer(
    linear: Linear, seed: int, dtype: str = "float16", precision: str = "eager", d: int = 8, dtypes: tuple[str, ...] = FULL
) -> Call:
    """Return a call of eight rows whose products nearly cancel, answered by the function."""
    source = SimpleNamespace(linear=linear, dtypes=dtypes)
    rng, backend = np.random.default_rng(seed), Backend("mine", source, Framework("numpy"))
    a, b = (rng.standard_normal((rows, d)) for rows in (8, 7))
    x, weight = np.concatenate([a, a + rng.standard_normal(a.shape) / 64], axis=-1), np.concatenate([b, -b], axis=-1)
    operation = Operation(specification("linear"), backend, dtype, precision)
    operation(*(array.astype(np.float16).astype(np.float64) for array in (x, weight)))
    return operation.recorder.calls[0]


def explain(in_16_bits: Linear, in_float32: Linear | None = exactly) -> Explanation | None:
    """Return what explains three calls in float16. The function `in_float32` answers the same calls in float32."""
    evidence, seeds = Evidence.gather([answer(in_16_bits, seed) for seed in range(3)]), count()
    assert evidence.wrong
    ask = (lambda call: answer(in_float32, next(seeds), "float32")) if in_float32 else (lambda call: None)
    return find_narrow_arithmetic(evidence, ask, lambda: False)


@pytest.mark.parametrize("linear", [in_parts, with_rounded_products], ids=lambda linear: linear.__name__)
def test_sums_and_products_in_16_bits_are_named(linear: Linear) -> None:
    found = explain(linear)
    assert found is not None
    assert found.what == "the right equation, sums or products in it rounded to float16; the same calls in float32 are right"
    assert found.predicts(answer(linear, 7)) is True
    assert found.predicts(answer(without_the_last_feature, 7)) is False
    assert found.predicts(answer(exactly, 7, "float32")) is None


def test_nothing_is_said_without_float32() -> None:
    assert explain(in_parts, None) is None


@pytest.mark.parametrize(("linear", "is_named"), [(in_parts, True), (without_the_last_feature, False)])
def test_without_a_wider_dtype_errors_must_be_those_of_roundings(linear: Linear, is_named: bool) -> None:
    evidence = Evidence.gather([answer(linear, seed, dtypes=("float16",)) for seed in range(3)])
    found = find_narrow_arithmetic(evidence, lambda call: None, lambda: False)
    assert (found is not None) is is_named
    assert found is None or found.what.endswith("; it takes no wider dtype, in which another equation would show")


def one_after_another(x: Any, weight: Any) -> Any:
    """Each product is added to the sum in the dtype of x."""
    return np.add.accumulate(x[..., None, :] * weight, axis=-1, dtype=x.dtype)[..., -1]


def test_a_sum_whose_worst_case_overflows_is_one_of_them() -> None:
    found = explain(one_after_another)
    assert found is not None
    rng, told = np.random.default_rng(3), []
    x, weight = (rng.integers(-13, 14, (rows, 8193)) / 4 for rows in (1, 150))
    for linear in (one_after_another, lambda x, weight: exactly(x, weight) * x.dtype.type(1.5)):
        backend = Backend("mine", SimpleNamespace(linear=linear), Framework("numpy"))
        operation = Operation(specification("linear"), backend, "float16", "fused")
        operation(x, weight)
        (call,) = operation.recorder.calls
        assert is_wrong(call)
        told.append(found.predicts(call))
    assert told == [True, False]


def test_what_is_wrong_in_float32_too_is_no_matter_of_16_bits() -> None:
    assert explain(in_parts, without_the_last_feature) is None


def test_a_feature_that_is_left_out_errs_by_more() -> None:
    assert explain(without_the_last_feature) is None


def test_digits_that_are_cut_off_are_no_sums() -> None:
    calls = [answer(cut_off, seed, precision="fused", d=2) for seed in range(3)]
    assert all(map(is_wrong, calls))
    assert find_narrow_arithmetic(Evidence.gather(calls), lambda call: answer(exactly, 0, "float32", d=2), lambda: False) is None


SPLIT = """
import numpy as np

framework = "numpy"
dtypes = ("float32", "float16")


def linear(x, weight, bias=None):
    parts = zip(np.array_split(x, 5, -1), np.array_split(weight, 5, -1))
    y = sum((a.astype(np.float64) @ b.astype(np.float64).T).astype(x.dtype) for a, b in parts)
    return y if bias is None else y + bias
"""


@pytest.mark.rotating
def test_a_run_says_it(tmp_path: Path) -> None:
    write(tmp_path, mine=SPLIT)
    run = suite(
        tmp_path, "--backend=mine.py", "--effort=default", "--hypothesis-seed=1", "-k", "linear.reference or linear.additive"
    )
    assert run.code == 1, run.text
    assert "sums or products in it rounded to float16; the same calls in float32 are right" in run.text


@pytest.mark.rotating
def test_a_dtype_that_the_backend_does_not_take_is_not_asked_for(tmp_path: Path) -> None:
    write(tmp_path, mine=SPLIT.replace('("float32", "float16")', '("float16",)'))
    run = suite(tmp_path, "--backend=mine.py", "--effort=default", "--hypothesis-seed=1", "-k", "linear.reference")
    assert run.code == 1, run.text
    assert "sums or products in it rounded to float16; it takes no wider dtype, in which another equation would show" in run.text
    assert "the same calls in float32" not in run.text
