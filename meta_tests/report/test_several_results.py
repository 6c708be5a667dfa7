"""Test that a verdict on an operation with several results says of each its class and how near its bound it comes."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.backend import build_backend
from spec_tests.report.verdict import Verdict
from spec_tests.running.verdict_record import build_verdict
from spec_tests.specification import run_settings
from spec_tests.specification.formats import PRECISIONS
from spec_tests.specification.registry import operations
from spec_tests.specification.run_settings import RunSettings

from ..support.in_process import attempt, trials_of


def attention_with_lse(q: Any, k: Any, v: Any) -> tuple[Any, Any]:
    """lse is computed in float32; the weights of out are rounded to the dtype of q."""
    group = q.shape[-3] // k.shape[-3]
    q, k, v = (x.astype(np.promote_types(x.dtype, np.float32)) for x in (q, np.repeat(k, group, -3), np.repeat(v, group, -3)))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(np.float32(q.shape[-1]))
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    e = np.exp(scores - top)
    total = e.sum(-1, keepdims=True)
    return ((e / total).astype(np.float16).astype(np.float32) @ v).astype(np.float16), (top + np.log(total))[..., 0]


def softmax(x: Any, *, axis: int) -> Any:
    h = x.astype(np.float64)
    e = np.exp(h - h.max(axis, keepdims=True, initial=-np.inf))
    return (e / e.sum(axis, keepdims=True)).astype(x.dtype)


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> dict[str, Verdict]:
    """Return the records of the comparisons with the oracle, by operation."""
    monkeypatch.setattr(run_settings, "_current", RunSettings("default"))
    source = SimpleNamespace(framework="numpy", dtypes=("float16",), attention_with_lse=attention_with_lse, softmax=softmax)
    under_test, found = build_backend(source, operations()), {}
    for name in ("attention_with_lse", "softmax"):
        for test, trial in trials_of(name, under_test):
            if test.invariant.id_for(trial.operation_name) == f"{name}.reference":
                assert attempt(test, trial, seed=1) is None
                found[name] = build_verdict(test.invariant, trial, "passed", "", 0.0)
    return found


def test_each_result_has_its_own_class_and_shares(records: dict[str, Verdict]) -> None:
    whole = records["attention_with_lse"]
    results = whole.results
    assert results.keys() == {"out", "lse"}
    assert results["lse"].precision == "fused"
    assert results["out"].precision == whole.precision in PRECISIONS[1:]
    assert results["out"].worst == whole.worst
    assert 0 < results["lse"].median <= results["lse"].worst <= 1


def test_a_single_result_has_no_list(records: dict[str, Verdict]) -> None:
    assert records["softmax"].results == {}
    assert records["softmax"].worst is not None
