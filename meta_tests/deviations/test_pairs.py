"""Two known bugs at once are named together, where neither explains the answers alone, and never called by another name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.deviations import find, join
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.registry import operations
from spec_tests.trials.cause import Cause

from ..measure.two_bugs import HIDDEN, NAMED_BOTH, NAMED_THIRD, diagnose_pair, draw_pairs
from ..support.in_process import attempt, trials


@pytest.mark.rotating
def test_pairs_that_nobody_listed_are_named_or_left_unnamed() -> None:
    """Which pairs these are changes with the catalogue. Of those that show both bugs a third is named, none as a third."""
    verdicts = [diagnose_pair((*names, seed)) for seed in (11, 12, 13) for names in draw_pairs(5, seed)]
    counted = [verdict for verdict, _ in verdicts if verdict != HIDDEN]
    assert NAMED_THIRD not in counted, verdicts
    assert 3 * counted.count(NAMED_BOTH) >= len(counted), verdicts


def test_a_bug_is_put_inside_another_and_nothing_stays_replaced() -> None:
    source = np.random.default_rng(1)
    x, w = source.normal(size=(3, 8)), source.normal(size=(4, 8, 8))
    merged, split, both = (
        find(f"multihead_self_attention/{name}")
        for name in ("merged-without-transpose", "split-without-transpose", "split-and-merged-without-transpose")
    )
    assert merged and split and both  # noqa: PT018
    y = both.function(x, *w, num_heads=2)
    for pair in (join(merged, split), join(split, merged)):
        assert np.array_equal(pair.function(x, *w, num_heads=2), y)
    assert not np.array_equal(merged.function(x, *w, num_heads=2), y)
    assert not np.array_equal(split.function(x, *w, num_heads=2), y)


def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
    h = x.astype(np.float64)
    return (h / np.sqrt(np.mean(np.square(h), -1, keepdims=True) + eps * eps) * (1.0 + weight)).astype(x.dtype)


def softmax(x: Any, *, axis: int) -> Any:
    h = x.astype(np.float64)
    e = np.exp2(h - np.max(h, -1, keepdims=True, initial=-np.inf))
    return (e / np.sum(e, -1, keepdims=True)).astype(x.dtype)


def scaled_dot_product_attention(q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, *, scale: Any = None) -> Any:
    """Attention that divides by d_k where no scale is given, and subtracts a bias that is given. Each shows alone, too."""
    s = q.astype(np.float64) @ np.swapaxes(k, -1, -2) * (1 / q.shape[-1] if scale is None else scale)
    s = s if bias is None else s - bias
    s = s if mask is None else np.where(mask, s, -np.inf)
    with np.errstate(all="ignore"):
        e = np.exp(s - np.max(s, -1, keepdims=True, initial=-np.inf))
        return (e / np.sum(e, -1, keepdims=True) @ v).astype(q.dtype)


def find_causes(function: Any, name: str) -> list[Cause]:
    """Compare a function with the oracle, as a run does, and return the causes that this finds."""
    made = SimpleNamespace(name="mine", framework="numpy", dtypes=("float32",), **{name: function})
    under_test: Backend = build_backend(made, set(operations()))
    for test, trial in trials(under_test, about=lambda law: law.compares_with_oracle, names=(name,)):
        if test.invariant.subject(trial.operation_name) == name:
            attempt(test, trial, seed=1, shrink=True)
    causes: list[Cause] = under_test.causes
    return causes


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("function", "id_of_both"),
    [(rms_norm, "rms_norm/eps-squared with gain-plus-one"), (softmax, "softmax/base-two with axis-ignored")],
)
def test_code_with_two_bugs_has_one_cause_that_names_both(function: Any, id_of_both: str) -> None:
    (cause,) = find_causes(function, function.__name__)
    assert cause.ids == (id_of_both,)
    assert "; and " in cause.explanations[0].what


@pytest.mark.rotating
def test_two_bugs_that_show_apart_have_no_third_cause_where_both_show() -> None:
    causes = find_causes(scaled_dot_product_attention, "scaled_dot_product_attention")
    names = {id_of_cause for cause in causes for id_of_cause in cause.ids}
    apart = {f"scaled_dot_product_attention/{name}" for name in ("scale-by-d-k", "bias-subtracted")}
    assert names == apart or len(causes) == 1, names
