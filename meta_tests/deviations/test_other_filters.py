"""Test that deviations of filters follow the answer and the conventions of the backend where these choose the kept tokens."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.operation import Operation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.known_deviations import diagnose
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.registry import specification

SOME = {"temperature_order": "first", "top_k_ties": "some", "top_p_mass": "after top_k", "top_p_ties": "some"}
TIED, PLAIN = np.array([2.0, 1.0, 1.0, 1.0, 0.5]), np.array([3.0, 2.5, 2.0, 1.5, 1.0])


def keep_last(z: Any, top_k: int) -> Any:
    """Keep top_k tokens, the last of equal ones."""
    kept = np.zeros(z.shape, bool)
    kept[np.lexsort((-np.arange(z.size), -z))[:top_k]] = True
    return kept


def softmax(z: Any, kept: Any = True) -> Any:
    e = np.where(kept, np.exp(z - np.max(z)), 0)
    return (e / e.sum()).astype(z.dtype)


def not_divided(logits: Any, *, top_k: Any = None, top_p: Any = None) -> Any:
    kept = keep_last(logits, top_k or logits.size)
    return np.where(kept, softmax(logits), 0).astype(logits.dtype)


def one_too_few(logits: Any, *, top_k: Any = None, top_p: Any = None) -> Any:
    """Keep tokens up to which the sum does not exceed top_p."""
    kept = keep_last(logits, top_k or logits.size)
    order = np.argsort(-np.where(kept, logits, -np.inf), kind="stable")
    inside = np.cumsum(softmax(logits, kept)[order]) <= (top_p or 2)
    inside[0] = True
    kept[order] &= inside
    return softmax(logits, kept)


@pytest.mark.parametrize(
    ("by", "options", "named"),
    [
        (not_divided, [{"top_k": 2}], "sampling_probabilities/not-renormalized"),
        (one_too_few, [{"top_k": 3, "top_p": share} for share in (0.6, 0.8, 0.9)], "sampling_probabilities/last-of-top-p-lost"),
    ],
)
@pytest.mark.parametrize("logits", [TIED, PLAIN])
def test_one_cause_explains_rows_with_and_without_ties(
    by: Callable[..., Any], options: list[dict[str, Any]], named: str, logits: np.ndarray
) -> None:
    under_test = Backend("unseen", SimpleNamespace(sampling_probabilities=by, conventions=SOME), Framework("numpy"))
    called = Operation(specification("sampling_probabilities"), under_test, "float32", "eager")
    for given in options:
        called(logits, **given)
    assert [one.id for one in diagnose(Evidence.gather(called.recorder.calls, []))] == [named]
