"""Test that a run finds each independent cause once, goes on past it, and gives its other failures to it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.deviations import backend as with_deviation
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.registry import operations
from spec_tests.trials.cause import Cause

from ..support.in_process import attempt, trials


def run(under_test: Backend, *subjects: str) -> list[Cause]:
    """Try the laws of the operations as a run does, and return the causes that it finds."""
    for test, trial in trials(under_test):
        if test.invariant.level is None and test.invariant.subject(trial.operation_name) in subjects:
            attempt(test, trial, seed=1, shrink=True)
    causes: list[Cause] = under_test.causes
    return causes


def make_backend(dtypes: tuple[str, ...] = ("float32",), **functions: Any) -> Backend:
    return build_backend(SimpleNamespace(name="mine", framework="numpy", dtypes=dtypes, **functions), set(operations()))


def softmax_of(name: str) -> Any:
    return with_deviation(name).softmax


@pytest.mark.rotating
def test_failures_of_one_bug_have_one_cause_in_every_dtype() -> None:
    (cause,) = run(
        make_backend(("float32", "float16"), rms_norm=with_deviation("rms_norm/eps-outside-sqrt").rms_norm), "rms_norm"
    )
    assert cause.ids == ("rms_norm/eps-outside-sqrt",)
    assert {dtype for _, dtype in cause.failures} == {"float32", "float16"}
    assert len({law for law, _ in cause.failures}) > 3
    assert cause.failures.total() > 20


def test_right_code_has_no_cause() -> None:
    def softmax(x: np.ndarray, *, axis: int) -> np.ndarray:
        h = x.astype(np.float64)
        e = np.exp(h - np.max(h, axis=axis, keepdims=True)) if h.size else h
        return (e / np.sum(e, axis=axis, keepdims=True)).astype(x.dtype)

    assert run(make_backend(softmax=softmax), "softmax") == []


def test_an_exception_does_not_hide_the_bug_behind_it() -> None:
    def rms_norm(x: np.ndarray, weight: np.ndarray, *, eps: float) -> np.ndarray:
        if x.shape[-1] == 1:
            raise ZeroDivisionError("one feature")
        h = x.astype(np.float64)
        return (h / (np.sqrt(np.mean(h * h, -1, keepdims=True)) + eps) * weight).astype(x.dtype)

    exception, bug = sorted(run(make_backend(rms_norm=rms_norm), "rms_norm"), key=lambda cause: cause.kind != "exception")
    assert exception.kind == "exception"
    assert exception.symptom.startswith("the call raised ZeroDivisionError: one feature, at test_causes.py:")
    assert bug.ids == ("rms_norm/eps-outside-sqrt",)
    assert all(call.named["x"].shape[-1] == 1 for call in exception.example.calls)


def test_one_exception_in_a_function_that_several_operations_use_is_one_cause() -> None:
    def helper(x: np.ndarray) -> np.ndarray:
        raise RuntimeError(f"no kernel for {x.shape}")

    causes = run(make_backend(relu=lambda x: helper(x), silu=lambda x: helper(x)), "relu", "silu")
    assert [(cause.kind, cause.operation) for cause in causes] == [("exception", "relu")]
    assert {law.partition(".")[0] for law, _ in causes[0].failures} == {"relu", "silu"}


@pytest.mark.rotating
def test_wrong_answers_without_a_name_are_one_cause() -> None:
    def relu(x: np.ndarray) -> np.ndarray:
        return np.maximum(x, 0) * np.where(np.arange(x.size).reshape(x.shape) % 3 == 1, x.dtype.type(1.7), x.dtype.type(1))

    (cause,) = run(make_backend(("float32", "bfloat16"), relu=relu), "relu")
    assert cause.kind in ("unexplained", "region")
    assert {dtype for _, dtype in cause.failures} == {"float32", "bfloat16"}


@pytest.mark.rotating
def test_a_second_bug_under_another_option_is_found_behind_the_first() -> None:
    no_maximum, other_axis = softmax_of("softmax/no-maximum-subtracted"), softmax_of("softmax/axis-ignored")

    def softmax(x: np.ndarray, *, axis: int) -> np.ndarray:
        return no_maximum(x, axis=axis) if axis in (-1, x.ndim - 1) else other_axis(x, axis=axis)

    keys = [cause.ids for cause in run(make_backend(softmax=softmax), "softmax")]
    assert len(keys) == 2
    assert ("softmax/axis-ignored",) in keys
    assert any("softmax/no-maximum-subtracted" in key for key in keys)


@pytest.mark.rotating
def test_an_axis_that_is_fixed_is_one_cause_for_every_shape() -> None:
    right = softmax_of("softmax/axis-ignored")  # along the last axis

    def softmax(x: np.ndarray, *, axis: int) -> np.ndarray:
        return np.moveaxis(right(np.moveaxis(x, 0, -1), axis=-1), -1, 0)

    (cause,) = run(make_backend(softmax=softmax), "softmax")
    assert cause.ids == ("softmax: axis 0",)


@pytest.mark.rotating
def test_the_gradient_of_a_wrong_result_has_the_cause_of_the_result() -> None:
    torch = pytest.importorskip("torch")

    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        root = x.square().mean(-1, keepdim=True).sqrt()
        return x / (root + eps) * weight

    source = SimpleNamespace(name="mine", framework="torch", dtypes=("float32",), rms_norm=rms_norm)
    assert torch.get_default_dtype() == torch.float32
    causes = run(build_backend(source, set(operations())), "rms_norm", "rms_norm_vjp")
    assert [cause.ids for cause in causes] == [("rms_norm/eps-outside-sqrt",)]
    assert any(law.startswith("rms_norm_vjp.") for law, _ in causes[0].failures)
