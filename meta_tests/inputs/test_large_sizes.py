"""Test that bugs beyond 2¹⁵, 2¹⁶ or 2³¹ elements are caught at thorough effort, within the memory budget."""

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests import test_every_operation__long
from spec_tests.calls.violation import Violation
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.inputs import effort
from spec_tests.inputs.draw import MAX_GRID_ELEMENTS
from spec_tests.specification.registry import operations
from spec_tests.specification.run_settings import current_settings, set_settings

from ..support import in_process
from ..support.in_process import attempt, trials
from ..support.paths import ROOT
from ..support.pytest_process import complaints, suite

RIGHT = in_process.backend("numpy-cpu").source


def softmax_with_short_counter(limit: int) -> Any:
    def softmax(x: Any, *, axis: int) -> Any:
        """Count in 16 bits: the sum leaves out further terms."""
        e = np.exp(np.moveaxis(x - np.max(x, axis=axis, keepdims=True), axis, -1))
        return np.moveaxis(e / np.sum(e[..., :limit], axis=-1, keepdims=True), -1, axis)

    return softmax


def with_wrapping_index(right: Callable[..., Any], limit: int) -> Any:
    @functools.wraps(right)
    def wrong(*arguments: Any, **keywords: Any) -> Any:
        """Wrap the index: elements beyond the limit are never written."""
        y = np.array(right(*arguments, **keywords))
        y.reshape(-1)[limit:] = 0
        return y

    return wrong


def rms_norm_with_small_grid(limit: int) -> Any:
    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        """Start one block for each row, but no more blocks than the grid holds."""
        y = np.array(RIGHT.rms_norm(x, weight, eps=eps))
        y.reshape(-1, x.shape[-1])[limit:] = 0
        return y

    return rms_norm


def attention_with_small_buffer(limit: int) -> Any:
    def scaled_dot_product_attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        """Keep scores in a buffer of fixed size."""
        mask = None if mask is None else mask[..., :limit]
        return RIGHT.scaled_dot_product_attention(q, k[..., :limit, :], v[..., :limit, :], mask)

    return scaled_dot_product_attention


WRONG = {
    "softmax": softmax_with_short_counter(2**16),
    "relu": with_wrapping_index(RIGHT.relu, MAX_GRID_ELEMENTS),  # no array of another law is larger
    "rms_norm": rms_norm_with_small_grid(2**16 - 1),
    "scaled_dot_product_attention": attention_with_small_buffer(8192),
}


def backend(**functions: Callable[..., Any]) -> Backend:
    return build_backend(SimpleNamespace(framework="numpy", dtypes=("float32",), name="mine", **functions), set(operations()))


def find_violations(under_test: Backend, law: str) -> list[Violation | None]:
    """Return what a law finds in each operation: a violation or None."""
    selected = trials(under_test, about=lambda invariant: invariant.id == f"operation.{law}", dtypes=("float32",))
    return [attempt(test, trial, seed=1) for test, trial in selected]


@pytest.mark.parametrize("name", WRONG)
def test_limits_of_sixteen_bits_are_caught(name: str) -> None:
    assert find_violations(backend(**{name: WRONG[name]}), "long") == []  # not tried
    assert find_violations(backend(**{name: WRONG[name]}), "reference") == [None]  # and no other law shows it
    with effort.using_effort("thorough"):
        assert all(find_violations(backend(**{name: WRONG[name]}), "long"))


@pytest.mark.nightly
def test_the_shipped_backend_is_right_at_large_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_every_operation__long, "INT32", 2**20)
    fewer = replace(effort.EFFORTS["thorough"], base=16, min_examples_per_dtype=4)
    monkeypatch.setattr(effort, "EFFORTS", {**effort.EFFORTS, "thorough": fewer})
    with effort.using_effort("thorough"):
        for law in ("long", "beyond_int32"):
            violations = find_violations(in_process.backend("numpy-cpu"), law)
            assert len(violations) > 15
            assert not any(violations), violations


def test_a_wrapping_index_is_caught_if_there_is_memory_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of 18 bits stands for one of 32 bits."""
    names = ("relu", "rms_norm", "linear", "scaled_dot_product_attention")
    wrapping = backend(**{name: with_wrapping_index(getattr(RIGHT, name), 2**18) for name in names})
    monkeypatch.setattr(test_every_operation__long, "INT32", 2**18)
    with effort.using_effort("thorough"):
        assert all(find_violations(wrapping, "beyond_int32"))
        set_settings(replace(current_settings(), memory_budget_gb=1e-6))
        assert not any(find_violations(wrapping, "beyond_int32"))


def test_the_skip_reason_says_how_much_memory_is_needed() -> None:
    args = ("--backend=numpy-cpu", "--effort=thorough", "--dtype=float32", "-k", "relu.beyond_int32", "-rs")
    run = suite(ROOT, *args, "--memory-budget=2")
    assert run.code == 5
    assert "more than 2^31 elements take about" in run.text
    assert "--memory-budget is 2" in run.text


def test_a_budget_is_a_number_of_gigabytes(tmp_path: Path) -> None:
    options = [f"--memory-budget={given}" for given in ("much", "0", "-1", "nan", "inf")]
    for option, complaint in zip(options, complaints(tmp_path, *options), strict=True):
        assert complaint == f"{option}: give a number of gigabytes greater than 0, as in --memory-budget=16."
