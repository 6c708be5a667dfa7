"""Whether the filters of tokens see the temperature."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._convention import Convention, Value
from ._token_filters import OPERATIONS, filter_with, follow, has, list_counts, number_of


def _is_asked(named: dict[str, Any], settled: dict[str, str]) -> bool:
    if number_of(named, "temperature") in (None, 0.0, 1.0) or not has(named, "top_p", "min_p"):
        return False
    first, last = (list_counts(filter_with(named, settled, temperature_order=order)) for order in ("first", "last"))
    return not all(np.array_equal(a, b) for a, b in zip(first, last, strict=True))


CONVENTION = Convention(
    "temperature_order",
    "whether top_p and min_p see the temperature",
    OPERATIONS,
    {
        "first": Value("they see the tempered probabilities", lambda equation: equation),
        "last": Value("they see those without a temperature, and what is kept is tempered", follow(temperature_order="last")),
    },
    _is_asked,
    is_closed=True,
)
