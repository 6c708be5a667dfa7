"""Which keys causality and windows hide where queries and keys differ in number."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ._convention import Convention, Equation, Value

WINDOWS = ("left_window", "right_window")


def _has_unequal_causality(named: dict[str, Any], settled: dict[str, str]) -> bool:
    hides = bool(named.get("is_causal")) or any(named.get(name) is not None for name in WINDOWS)
    return hides and named["q"].shape[-2] != named["k"].shape[-2]


def find_near_keys(n: int, m: int, alignment: str | None, options: dict[str, Any]) -> Any:
    """Return which of m keys causality and windows leave to each of n queries, whose positions are those of the alignment."""
    away = np.arange(m) - np.arange(n)[:, None] - (m - n if alignment == "bottom-right" else 0)
    left, right = (options.get(name) for name in WINDOWS)
    near = away <= 0 if options.get("is_causal") else np.ones((n, m), dtype=bool)
    return near & (True if left is None else away >= -left) & (True if right is None else away <= right)


def _align(alignment: str) -> Callable[[Equation], Equation]:
    """Return the change that reads is_causal and windows with n ≠ m as a mask, in an equation that raises ValueError there."""

    def change(equation: Equation) -> Equation:
        @wraps(equation)
        def aligned(q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
            given = {**options, **({} if mask is None else {"mask": mask})}
            try:
                return equation(q, k, v, **given)
            except ValueError:
                if not _has_unequal_causality({**options, "q": q, "k": k}, {}):
                    raise
            seen = find_near_keys(q.shape[-2], k.shape[-2], alignment, options)
            kept = {name: x for name, x in options.items() if name not in (*WINDOWS, "is_causal")}
            return equation(q, k, v, **kept, mask=seen if mask is None else np.logical_and(mask, seen))

        return aligned

    return change


CONVENTION = Convention(
    "causal_alignment",
    "which keys is_causal hides where n ≠ m",
    ("scaled_dot_product_attention", "grouped_query_attention", "attention_with_weights", "attention_with_lse"),
    {
        "bottom-right": Value("the last query is aligned with the last key: j ≤ i + m − n", _align("bottom-right")),
        "top-left": Value("the first query is aligned with the first key: j ≤ i", _align("top-left")),
    },
    _has_unequal_causality,
    is_closed=True,
    in_pytorch="top-left",
)
