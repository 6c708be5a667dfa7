"""Conventions on which implementations differ: what a backend states is tested, and what it does not state is not."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.violation import Violation
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.inputs.effort import using_effort
from spec_tests.report.failure import failure_message
from spec_tests.specification.registry import operations

from ..support.in_process import attempt, caught_by, trials

CAUSAL = ("scaled_dot_product_attention", "grouped_query_attention")
MASKED = (*CAUSAL, "local_attention")
ALIGNMENTS, FULLY_MASKED_VALUES = ("bottom-right", "top-left"), ("zero", "nan")
Function = Callable[..., np.ndarray]


def build_functions(aligned: str, fully_masked: str) -> dict[str, Function]:
    """Return attention with these conventions. For an empty one it raises wherever the convention would matter."""

    def attention(q: Any, k: Any, v: Any, seen: np.ndarray, scale: float | None) -> np.ndarray:
        q, k, v = (x.astype(np.float64) for x in (q, k, v))
        scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
        scores = np.where(seen, scores, -np.inf)
        none = ~np.any(np.broadcast_to(seen, scores.shape), axis=-1, keepdims=True)
        if np.any(none) and not fully_masked:
            raise ValueError("unstated: a query without a key")
        scores = np.where(none, 0.0, scores)
        e = np.exp(scores - np.max(scores, axis=-1, keepdims=True, initial=-np.inf))
        y = e / np.sum(e, axis=-1, keepdims=True) @ v
        return np.where(none, {"zero": 0.0, "nan": np.nan, "": 0.0}[fully_masked], y).astype(np.float32)

    def scaled_dot_product_attention(
        q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None
    ) -> np.ndarray:
        n, m = q.shape[-2], k.shape[-2]
        if is_causal and n != m and not aligned:
            raise ValueError("unstated: causality of a rectangle")
        seen = np.tri(n, m, m - n if aligned == "bottom-right" else 0, dtype=bool) if is_causal else np.ones((n, m), bool)
        return attention(q, k, v, seen if mask is None else seen & mask, scale)

    def grouped_query_attention(
        q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None
    ) -> np.ndarray:
        k, v = (np.repeat(x, q.shape[-3] // k.shape[-3], axis=-3) for x in (k, v))
        return scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, scale=scale)

    def local_attention(
        q: Any, k: Any, v: Any, *, window: int, is_causal: bool = False, scale: float | None = None
    ) -> np.ndarray:
        distance = np.arange(q.shape[-2])[:, None] - np.arange(k.shape[-2])
        return attention(q, k, v, (abs(distance) <= window) & ((distance >= 0) | (not is_causal)), scale)

    return {f.__name__: f for f in (scaled_dot_product_attention, grouped_query_attention, local_attention)}


def build(aligned: str = "", fully_masked: str = "", only: tuple[str, ...] = MASKED, **conventions: str) -> Backend:
    chosen = {name: f for name, f in build_functions(aligned, fully_masked).items() if name in only}
    source = SimpleNamespace(framework="numpy", dtypes=("float32",), conventions=conventions, **chosen)
    return build_backend(source, set(operations()))


def test_what_is_not_stated_is_not_asked() -> None:
    """No invariant and no level calls the functions where they raise."""
    with using_effort("smoke"):
        for test, trial in trials(build()):
            assert not any(need.startswith("convention:") for need in test.invariant.needs), f"{test.invariant.id} is tried"
            violation = attempt(test, trial, seed=1)
            assert violation is None or "unstated" not in violation.what, f"{test.invariant.id}: {violation}"


def test_the_test_above_can_fail() -> None:
    """If the same functions state conventions, the invariants call them where they raise."""
    under_test = build(causal_alignment="top-left", fully_masked_rows="nan")
    for law, names in ((".causal_alignment", CAUSAL), (".fully_masked_rows", MASKED)):
        broken = caught_by(under_test, seed=1, only=law)
        assert broken.keys() == {name + law for name in names}
        assert all("unstated" in violation.what for violation in broken.values())


@pytest.mark.parametrize("computed", ALIGNMENTS)
@pytest.mark.parametrize("stated", ALIGNMENTS)
@pytest.mark.parametrize("operation", CAUSAL)
def test_causality_is_aligned_as_stated(operation: str, stated: str, computed: str) -> None:
    conventions = {"causal_alignment": stated, "fully_masked_rows": "zero"}
    broken = caught_by(build(computed, "zero", **conventions), seed=1, only=f"{operation}.causal_alignment")
    assert bool(broken) is (stated != computed)
    if broken:
        (violation,) = broken.values()
        assert violation.facts[-1] == ("diagnosis", f"it is aligned {computed}, where the backend states {stated}")


@pytest.mark.parametrize("computed", FULLY_MASKED_VALUES)
@pytest.mark.parametrize("stated", FULLY_MASKED_VALUES)
@pytest.mark.parametrize("operation", MASKED)
def test_fully_masked_rows_are_as_stated(operation: str, stated: str, computed: str) -> None:
    broken = caught_by(build(fully_masked=computed, fully_masked_rows=stated), seed=1, only=f"{operation}.fully_masked_rows")
    assert bool(broken) is (stated != computed)
    if broken:
        (violation,) = broken.values()
        shown = {"zero": "0.0", "nan": "nan"}
        assert violation.what == f"a query that attends to no key gives {shown[computed]}"
        assert violation.facts == [("stated", stated)]


@pytest.mark.parametrize("computed", FULLY_MASKED_VALUES)
@pytest.mark.parametrize("operation", CAUSAL)
def test_queries_before_the_first_key_are_blind_without_any_mask(operation: str, computed: str) -> None:
    """With more queries than keys, causality alone leaves queries without a key, so a kernel needs no mask to meet them."""
    conventions = {"causal_alignment": "bottom-right", "fully_masked_rows": "zero"}
    broken: dict[str, Violation] = caught_by(build("bottom-right", computed, **conventions), seed=1, only=f"{operation}.causal")
    assert broken.keys() == ({f"{operation}.causal_alignment"} if computed == "nan" else set())


@pytest.mark.parametrize("operation", CAUSAL)
def test_wrong_numbers_under_a_stated_convention_are_explained(operation: str) -> None:
    """The oracle has no causal mask for unequal lengths, so neither the diagnosis nor the script may call it there."""
    right = build_functions("top-left", "")[operation]

    def wrong_in_rectangles(q: Any, k: Any, v: Any, *, is_causal: bool = False) -> Any:
        return right(q, k, v, is_causal=is_causal) * np.float32(1.0 if q.shape[-2] == k.shape[-2] else 1.01)

    conventions = {"causal_alignment": "top-left"}
    source = SimpleNamespace(framework="numpy", dtypes=("float32",), conventions=conventions, **{operation: wrong_in_rectangles})
    tried = [
        pair for pair in trials(build_backend(source, {operation})) if pair[0].invariant.id == f"{operation}.causal_alignment"
    ]
    for test, trial in tried:
        violation = attempt(test, trial, seed=1)
        assert violation is not None
        assert f"breaks {operation}.causal_alignment" in failure_message(test.invariant, trial, violation)
    assert tried
