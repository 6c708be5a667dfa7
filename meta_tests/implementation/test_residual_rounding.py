"""The conventions residual_rounding, which 16 bits alone know, and all_ignored: stated, inferred and contradicted."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.registry import operations

from ..support.in_process import caught_by


def build(dtypes: tuple[str, ...], **functions: Any) -> Backend:
    return build_backend(SimpleNamespace(framework="numpy", dtypes=dtypes, **functions), set(operations()))


def normalize(total: Any, weight: Any, eps: float) -> Any:
    return total / np.sqrt(np.mean(np.square(total), axis=-1, keepdims=True) + eps) * weight


def add_rounded(x: Any, residual: Any, weight: Any, *, eps: float) -> Any:
    wide = np.float64 if x.dtype == np.float64 else np.float32
    total = (x.astype(wide) + residual.astype(wide)).astype(x.dtype)
    return normalize(total.astype(wide), weight.astype(wide), eps).astype(x.dtype), total


def add_unrounded(x: Any, residual: Any, weight: Any, *, eps: float) -> Any:
    wide = np.float64 if x.dtype == np.float64 else np.float32
    total = x.astype(wide) + residual.astype(wide)
    return normalize(total, weight.astype(wide), eps).astype(x.dtype), total.astype(x.dtype)


ORDERS = {"rounded": add_rounded, "unrounded": add_unrounded}


@pytest.mark.rotating
@pytest.mark.parametrize("order", ORDERS)
def test_an_order_that_is_not_stated_is_found_and_passes(order: str) -> None:
    under_test = build(("float16", "float32"), add_rms_norm=ORDERS[order])
    assert caught_by(under_test, seed=1, only="add_rms_norm.") == {}
    assert under_test.inferred_conventions["add_rms_norm", "residual_rounding"] == (order,)


def test_float32_alone_tells_nothing() -> None:
    under_test = build(("float32",), add_rms_norm=add_rounded)
    assert caught_by(under_test, seed=1, only="add_rms_norm.residual_rounding") == {}
    assert len(under_test.inferred_conventions.get(("add_rms_norm", "residual_rounding"), ())) != 1


@pytest.mark.rotating
@pytest.mark.parametrize("stated", ORDERS)
def test_the_stated_order_is_demanded(stated: str) -> None:
    (other,) = ORDERS.keys() - {stated}
    conventions = {"residual_rounding": stated}
    assert (
        caught_by(build(("float16",), add_rms_norm=ORDERS[stated], conventions=conventions), seed=1, only="add_rms_norm.") == {}
    )
    broken = caught_by(build(("float16",), add_rms_norm=ORDERS[other], conventions=conventions), seed=1, only="add_rms_norm.")
    assert "add_rms_norm.reference" in broken
    found = broken["add_rms_norm.residual_rounding"].what
    assert found == f"residual_rounding is {other} here, where the backend states {stated}"


def test_an_order_that_depends_on_the_width_contradicts_itself() -> None:
    def mixed(x: Any, residual: Any, weight: Any, *, eps: float) -> Any:
        return ORDERS["rounded" if x.shape[-1] > 128 else "unrounded"](x, residual, weight, eps=eps)

    broken = caught_by(build(("float16",), add_rms_norm=mixed), seed=1, only="add_rms_norm.")
    assert broken.keys() == {"add_rms_norm.residual_rounding"}
    assert broken["add_rms_norm.residual_rounding"].what.endswith("in its other answers")


def mean_of_kept_rows(
    logits: Any, targets: Any, *, ignore_index: int = -100, reduction: str = "mean", empty: float = np.nan
) -> Any:
    peak = logits.max(-1, keepdims=True)
    lse = np.log(np.exp(logits - peak).sum(-1)) + peak[..., 0]
    kept = targets != ignore_index
    losses = lse - np.take_along_axis(logits, np.where(kept, targets, 0)[..., None], axis=-1)[..., 0]
    losses = np.where(kept, losses, 0)
    if reduction == "none":
        return losses.astype(logits.dtype)
    total = losses.sum()
    mean = total / kept.sum() if kept.any() else empty
    return np.asarray(total if reduction == "sum" else mean, dtype=logits.dtype)


@pytest.mark.parametrize(("value", "empty"), [("nan", np.nan), ("zero", 0.0)])
def test_the_mean_of_no_rows_is_inferred(value: str, empty: float) -> None:
    def cross_entropy(logits: Any, targets: Any, *, ignore_index: int = -100, reduction: str = "mean") -> Any:
        return mean_of_kept_rows(logits, targets, ignore_index=ignore_index, reduction=reduction, empty=empty)

    under_test = build(("float64",), cross_entropy=cross_entropy)
    assert caught_by(under_test, seed=1, only="cross_entropy.all_ignored") == {}
    assert under_test.inferred_conventions["cross_entropy", "all_ignored"] == (value,)


def test_a_mean_of_no_rows_that_is_neither_fails() -> None:
    def cross_entropy(logits: Any, targets: Any, *, ignore_index: int = -100, reduction: str = "mean") -> Any:
        return mean_of_kept_rows(logits, targets, ignore_index=ignore_index, reduction=reduction, empty=1.0)

    broken = caught_by(build(("float64",), cross_entropy=cross_entropy), seed=1, only="cross_entropy.all_ignored")
    assert "fits no known all_ignored" in broken["cross_entropy.all_ignored"].what
