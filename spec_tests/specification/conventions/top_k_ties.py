"""Which of equal tokens top_k keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._convention import Convention, Value
from ._token_filters import OPERATIONS, UNIT, filter_with, follow, has


def _is_asked(named: dict[str, Any], settled: dict[str, str]) -> bool:
    if not has(named, "top_k"):
        return False
    filters = filter_with(named, settled)
    every, some = (filters.under(top_k_ties=ties).by_top_k(UNIT) for ties in ("all", "some"))
    return not np.array_equal(every, some)


CONVENTION = Convention(
    "top_k_ties",
    "whether top_k keeps all tokens that equal the last one that it keeps",
    OPERATIONS,
    {
        "all": Value("it keeps all of them, and so more than top_k", lambda equation: equation),
        "some": Value("it keeps top_k tokens, whichever of the equal ones", follow(top_k_ties="some")),
    },
    _is_asked,
    is_closed=True,
)
