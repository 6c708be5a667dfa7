"""How kv_cache_append is drawn, and caches in general."""

from typing import Any

import numpy as np

from reference_numpy.kv_cache_append import kv_cache_append
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.implementation.domain import SCALES
from spec_tests.inputs.draw import Draw
from spec_tests.inputs.regimes import VECTORS
from spec_tests.operations._caches import draw_format, has_narrow_caches, hold_both, scale_of_new
from spec_tests.operations._narrow import choose, draw_quotients, draw_spread
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.narrow_formats import NARROW_FORMATS

ROWS = (1, 2, 3, 4, 7)
EXPONENT = 20  # of the largest scale of a cache in few bits, and of the reciprocal of the smallest


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


def draw_inputs(draw: Draw, *, few_bits: bool | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call. few_bits: whether the caches hold numbers in few bits, if it is not drawn."""
    (b,) = draw_row_count(draw)
    slots, (h, d_k, d_v) = draw.dims(M=130)[0], draw.dims(h_kv=4, d_k=33, d_v=33)
    n = draw.size("n", tuple(i + step for i in (1, 0, slots, slots // 2) for step in (0, -1, 1) if 0 <= i + step <= slots))
    slots = draw_slots(draw, slots, n)
    lengths = draw_lengths(draw, b, (slots - n) // 2, low=0, high=slots - n)
    caches = [draw.array((b, h, slots, d), VECTORS) for d in (d_k, d_v)]
    new = [draw.array((b, h, n, d), VECTORS) for d in (d_k, d_v)]
    if few_bits is None:
        few_bits = has_narrow_caches(draw) and bool(draw.variants("cache_dtype"))
    if not few_bits:
        return (*caches, *new, lengths), {}
    keywords = draw_format(draw, (b, h, slots), -EXPONENT, EXPONENT)
    caches = hold_both(draw, keywords, *caches)
    scales = (scale_of_new(keywords, name, lengths, n) for name in SCALES)
    new = [draw_new(draw, keywords["cache_dtype"], x.shape, scale) for x, scale in zip(new, scales, strict=True)]
    return (*caches, *new, lengths), keywords


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_inputs(draw)


def draw_new(draw: Draw, cache_dtype: str, shape: tuple[int, ...], scale: np.ndarray) -> np.ndarray:
    """Draw new keys for a cache of few bits: such that quotients are hard to round if its scales are powers of two, and else of
    every size.
    """
    f = NARROW_FORMATS[cache_dtype]
    exact = bool(np.all(np.frexp(scale)[0] == 0.5))
    x = (draw_quotients if exact else draw_spread)(draw, f, shape) * scale
    most = draw.format.max
    return draw.format.round(np.clip(x, -most, most))


def ask_range(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw keys far below the least number of a cache in int8."""
    keywords = choose(draw, "cache_dtype", "int8")
    (b,), (h, d_k, d_v) = draw_row_count(draw), draw.dims(h_kv=4, d_k=33, d_v=33)
    n = draw.size("n", (1, 2))
    slots = draw_slots(draw, draw.size("M", (2, 3)), n)
    caches, new = ([np.full((b, h, m, d), low) for d in (d_k, d_v)] for m, low in ((slots, 0.0), (n, -200.0)))
    return (*caches, *new, np.zeros(b, dtype=np.int64)), keywords


declaration = Declaration(
    equation=kv_cache_append,
    arguments=arguments,
    core={"k_cache": 3, "v_cache": 3, "k": 3, "v": 3, "lengths": 0, "k_scale": 2, "v_scale": 2},
    precision="exact",
    results={"k_cache": "", "v_cache": ""},
    updates=("k_cache", "v_cache"),
    formats={"k_cache": "cache_dtype", "v_cache": "cache_dtype"},
    positive=("k_scale", "v_scale"),
    wide_arguments=("k_scale", "v_scale"),
    open_questions={"int8_range": ask_range},
    short=True,
    linear=("k_cache", "v_cache", "k", "v"),
)
