"""Of which tokens top_p counts the mass."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._convention import Convention, Value
from ._token_filters import OPERATIONS, filter_with, follow, has, list_counts


def _is_asked(named: dict[str, Any], settled: dict[str, str]) -> bool:
    if not has(named, "top_p") or not has(named, "top_k", "min_p"):
        return False
    _, first, *others = list_counts(filter_with(named, settled))
    return not all(np.array_equal(first, other) for other in others)


CONVENTION = Convention(
    "top_p_mass",
    "of which tokens top_p counts the mass",
    OPERATIONS,
    {
        "after top_k": Value("of those that top_k keeps", lambda equation: equation),
        "after top_k and min_p": Value("of those that top_k and min_p keep", follow(top_p_mass="after top_k and min_p")),
        "whole": Value("of all", follow(top_p_mass="whole")),
    },
    _is_asked,
    is_closed=True,
)
