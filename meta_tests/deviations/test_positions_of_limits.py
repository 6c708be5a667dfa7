"""A limit that counts from another position than its neighbours do is said: the window or the causal mask alone is misplaced."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec_tests.diagnosis.equations.search import search_equation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.specification.registry import specification

from ..support.answered import answers
from ..support.budgets import budget_for

RIGHT = specification("attention_with_kv_cache").reference


def window_from_the_first_slot(q: Any, k_cache: Any, v_cache: Any, lengths: Any, **windows: Any) -> Any:
    """Query i sees slots up to i + right_window, where it stands at lengths − n + i; left_window counts from there."""
    n, rows = q.shape[-2], []
    for i, length in enumerate(np.asarray(lengths).tolist()):
        own = []
        for j in range(n):
            first, last = length - n + j - windows["left_window"], min(length, j + windows["right_window"] + 1)
            k, v = (x[i : i + 1, :, max(first, 0) : last] for x in (k_cache, v_cache))
            own.append(RIGHT(q[i : i + 1, :, j : j + 1], k, v, np.array([k.shape[-2]]), is_causal=False))
        rows.append(np.concatenate(own, axis=-2))
    return np.concatenate(rows)


def test_a_window_that_counts_from_the_first_slot_is_said() -> None:
    rng, calls = np.random.default_rng(8), []
    for n, right, lengths in ((2, 2, (4, 3)), (3, 2, (5, 4)), (1, 1, (2, 3)), (2, 4, (6, 4))):
        arrays = (rng.normal(size=shape) for shape in ((2, 2, n, 4), (2, 2, 8, 4), (2, 2, 8, 3)))
        windows = {"left_window": 2, "right_window": right}
        calls.append(((*arrays, np.array(lengths)), {"is_causal": False, **windows}))
    evidence = Evidence.gather(answers("attention_with_kv_cache", window_from_the_first_slot, calls))
    assert evidence.wrong
    found = search_equation(evidence, budget=budget_for(evidence))
    assert found is not None
    assert "`y = seen if right_window is none, else seen and slot <= «arange(n)» + right_window`" in found.what
