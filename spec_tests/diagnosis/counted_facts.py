"""Facts of elements that count something in the call: the keys that a query sees, and the tokens that have an id."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..calls.call import Call
from ..specification.registry import argument_dimensions
from .seen_keys import count_seen_keys

COUNTS = SEEN, OCCURRENCES = "keys that the query sees", "tokens with the id"


def describe_counts(call: Call) -> dict[str, np.ndarray]:
    """Return how many keys the query of each element sees; {} for other operations than attention."""
    counts, shape = count_seen_keys(call), call.value.shape
    if counts is None or len(shape) < 2 or counts.shape[-1] != shape[-2]:
        return {}
    counts = counts[..., None]
    if counts.ndim > len(shape) or any(a not in (1, b) for a, b in zip(counts.shape[::-1], shape[::-1], strict=False)):
        return {}
    return {SEEN: counts}


def describe_counts_of_part(call: Call, name: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return how often the id of each row of a table occurs, if a gradient is that of a table; {} for others."""
    ids, labels = call.named.get("token_ids"), argument_dimensions(call.operation.spec).get(name, ())
    if ids is None or labels[:1] != ("vocab",) or len(shape) != 2 or not ids.size:
        return {}
    return {OCCURRENCES: np.bincount(ids.ravel(), minlength=shape[0])[: shape[0], None]}
