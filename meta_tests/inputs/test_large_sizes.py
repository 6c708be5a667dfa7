"""What only shows beyond 2¹⁵, 2¹⁶ or 2³¹ elements is caught at thorough effort, within the memory that one is given."""

import functools
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests import test_every_operation__long
from spec_tests.calls.violation import Violation
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.inputs import effort
from spec_tests.specification.registry import operations

from ..support import in_process
from ..support.in_process import attempt, trials
from ..support.paths import ROOT
from ..support.pytest_process import suite

RIGHT = in_process.backend("numpy-cpu").source


def softmax_of_a_count(limit: int) -> Any:
    def softmax(x: Any, *, axis: int) -> Any:
        """Its loop counts in 16 bits: the sum has no more terms."""
        e = np.exp(np.moveaxis(x - np.max(x, axis=axis, keepdims=True), axis, -1))
        return np.moveaxis(e / np.sum(e[..., :limit], axis=-1, keepdims=True), -1, axis)

    return softmax


def of_an_index(right: Callable[..., Any], limit: int) -> Any:
    @functools.wraps(right)
    def wrong(*arguments: Any, **keywords: Any) -> Any:
        """Its index wraps: what lies beyond is never written."""
        y = np.array(right(*arguments, **keywords))
        y.reshape(-1)[limit:] = 0
        return y

    return wrong


def rms_norm_of_a_grid(limit: int) -> Any:
    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        """One block for each row, and no more blocks than the grid holds."""
        y = np.array(RIGHT.rms_norm(x, weight, eps=eps))
        y.reshape(-1, x.shape[-1])[limit:] = 0
        return y

    return rms_norm


def attention_of_few_keys(limit: int) -> Any:
    def scaled_dot_product_attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        """A buffer for so many scores, made once."""
        few = None if mask is None else mask[..., :limit]
        return RIGHT.scaled_dot_product_attention(q, k[..., :limit, :], v[..., :limit, :], few)

    return scaled_dot_product_attention


WRONG = {
    "softmax": softmax_of_a_count(2**16),
    "relu": of_an_index(RIGHT.relu, 2**17),
    "rms_norm": rms_norm_of_a_grid(2**16 - 1),
    "scaled_dot_product_attention": attention_of_few_keys(8192),
}


def backend(**functions: Callable[..., Any]) -> Backend:
    return build_backend(SimpleNamespace(framework="numpy", dtypes=("float32",), name="mine", **functions), set(operations()))


def found(under_test: Backend, law: str) -> list[Violation | None]:
    """What this law shows of each operation."""
    chosen = trials(under_test, about=lambda described: described.id == f"operation.{law}", dtypes=("float32",))
    return [attempt(test, trial, seed=1) for test, trial in chosen]


@pytest.mark.parametrize("name", WRONG)
def test_what_ends_at_sixteen_bits_is_caught(name: str) -> None:
    assert found(backend(**{name: WRONG[name]}), "long") == []  # not tried
    assert found(backend(**{name: WRONG[name]}), "reference") == [None]  # nor seen otherwise
    with effort.using_effort("thorough"):
        assert all(found(backend(**{name: WRONG[name]}), "long"))


def test_the_shipped_backend_is_right_however_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_every_operation__long, "INT32", 2**20)
    monkeypatch.setitem(effort.EFFORTS, "thorough", replace(effort.EFFORTS["thorough"], base=16, least=4))
    with effort.using_effort("thorough"):
        for law in ("long", "beyond_int32"):
            shown = found(in_process.backend("numpy-cpu"), law)
            assert len(shown) > 15
            assert not any(shown), shown


def test_an_index_that_wraps_is_caught_where_there_is_memory_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of 32 bits, in a world where those are 18."""
    names = ("relu", "rms_norm", "linear", "scaled_dot_product_attention")
    wraps = backend(**{name: of_an_index(getattr(RIGHT, name), 2**18) for name in names})
    monkeypatch.setattr(test_every_operation__long, "INT32", 2**18)
    with effort.using_effort("thorough"):
        assert all(found(wraps, "beyond_int32"))
        effort.set_effort("thorough", 1e-6)
        assert not any(found(wraps, "beyond_int32"))


def test_the_budget_is_told() -> None:
    args = ("--backend=numpy-cpu", "--effort=thorough", "--dtype=float32", "-k", "relu.beyond_int32", "-rs")
    run = suite(ROOT, *args, "--memory-budget=2")
    assert run.code == 5
    assert "more than 2^31 elements take about" in run.text
    assert "--memory-budget is 2" in run.text


@pytest.mark.parametrize("given", ["much", "0", "-1", "nan", "inf"])
def test_a_budget_is_a_number_of_gigabytes(given: str) -> None:
    run = suite(ROOT, f"--memory-budget={given}")
    assert run.code == 4
    assert f"ERROR: --memory-budget={given}: give a number of gigabytes greater than 0, as in --memory-budget=16." in run.text
