"""How many keys the queries of a call of attention see, as far as its mask, causality and window say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .....calls.call import Call
from ..fact import Fact, Flag

ORDER = 9

NO_KEY = Flag.of("a query sees no key", "where a query sees no key", "where each query sees a key")
ONE_KEY = Flag.of("a query sees one key alone", "where a query sees one key alone", "where no query sees one key alone")


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield whether some query sees no key, and whether some sees one. Packed sequences have no such facts."""
    counts = count_seen_keys(call)
    if counts is not None:
        yield NO_KEY, bool((counts == 0).any())
        yield ONE_KEY, bool((counts == 1).any())


def count_seen_keys(call: Call) -> np.ndarray | None:
    """Return how many keys each query sees; None for other operations, and for packed sequences."""
    q, k = call.named.get("q"), call.named.get("k")
    if q is None or k is None or any(name.startswith("cu_seqlens") for name in call.named) or not {"n", "m"} <= _labels(call):
        return None
    n, m = q.shape[-2], k.shape[-2]
    i, j = np.arange(n)[:, None] + m - n, np.arange(m)
    seen = np.ones((n, m), dtype=bool)
    if call.named.get("is_causal"):
        seen &= j <= i
    left, right = call.named.get("left_window"), call.named.get("right_window")
    if isinstance(left, int):
        seen &= j >= i - left
    if isinstance(right, int):
        seen &= j <= i + right
    mask = call.named.get("mask")
    return np.asarray((seen & mask if isinstance(mask, np.ndarray) else seen).sum(axis=-1))


def _labels(call: Call) -> set[str]:
    return {label for shape in call.operation.spec.shapes.arguments.values() for label in shape.labels}
