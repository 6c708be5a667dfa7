"""How kv_cache_append is drawn, and caches in general."""

from typing import Any

import numpy as np

from reference_numpy.kv_cache_append import kv_cache_append
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.inputs.regimes import VECTORS
from spec_tests.specification.declaration import Declaration

ROWS = (1, 2, 3, 4, 7)


def draw_row_count(draw: Draw) -> tuple[int]:
    """Draw how many rows a cache has. The batch of a cache has one axis."""
    return (draw.size("b", ROWS),)


def draw_slots(draw: Draw, slots: int, n: int) -> int:
    """Return how many slots the cache has, drawn again if the n new keys need more."""
    if slots >= n:
        return slots
    stated = draw.operation.domain.get("M", ())
    pool = tuple(s for s in sorted(stated) if s >= n)[:3] if stated and not isinstance(stated, str) else (n, n + 1, 2 * n)
    slots = draw.size("M", pool or (n,))
    if slots < n:
        raise NotImplementedVariant(f"its domain has no cache of {n} slots")
    return slots


def draw_lengths(draw: Draw, rows: int, *points: int, low: int, high: int) -> np.ndarray:
    """Draw the length of each row, from low to high: often low, high or one of the points, or a neighbour of one."""
    return np.array([draw.near(low, high, *points, low=low, high=high) for _ in range(rows)], dtype=np.int64)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (b,) = draw_row_count(draw)
    slots, (h, d_k, d_v) = draw.dims(M=130)[0], draw.dims(h_kv=4, d_k=33, d_v=33)
    n = draw.size("n", tuple(i + step for i in (1, 0, slots, slots // 2) for step in (0, -1, 1) if 0 <= i + step <= slots))
    slots = draw_slots(draw, slots, n)
    lengths = draw_lengths(draw, b, (slots - n) // 2, low=0, high=slots - n)
    caches = (draw.array((b, h, slots, d), VECTORS) for d in (d_k, d_v))
    new = (draw.array((b, h, n, d), VECTORS) for d in (d_k, d_v))
    return (*caches, *new, lengths), {}


declaration = Declaration(
    equation=kv_cache_append,
    arguments=arguments,
    core={"k_cache": 3, "v_cache": 3, "k": 3, "v": 3, "lengths": 0},
    precision="exact",
    results={"k_cache": "", "v_cache": ""},
    updates=("k_cache", "v_cache"),
    short=True,
    linear=("k_cache", "v_cache", "k", "v"),
)
