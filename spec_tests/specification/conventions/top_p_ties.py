"""Which of equal tokens top_p keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._convention import Convention, Value
from ._token_filters import OPERATIONS, filter_with, follow, has, list_counts


def _is_asked(named: dict[str, Any], settled: dict[str, str]) -> bool:
    if not has(named, "top_p"):
        return False
    filters = filter_with(named, settled)
    some, every = (list_counts(filters.under(top_p_ties=ties)) for ties in ("some", "all"))
    return not all(np.array_equal(a, b) for a, b in zip(some, every, strict=True))


CONVENTION = Convention(
    "top_p_ties",
    "whether top_p keeps all tokens that equal the last one that it keeps",
    OPERATIONS,
    {
        "some": Value("it keeps as many as it counted, whichever of the equal ones", lambda equation: equation),
        "all": Value("it keeps all of them", follow(top_p_ties="all")),
    },
    _is_asked,
    is_closed=True,
)
