"""How rope is tried."""

from typing import Any

from spec_tests.draw import BATCHES, SIZES, THETA, Draw
from spec_tests.violation import NotImplementedVariant

core = {"x": 2, "positions": 1}

EVEN = (2, 4, 6, 8, 10, *(size for size in SIZES if size > 8 and size % 2 == 0))
LAYOUTS = ("interleaved", "half")


def dims(draw: Draw, n: int = 300) -> tuple[int, int]:
    """n tokens of d_k features: seldom both large, sometimes equal."""
    (n,) = draw.dims(n=n)
    few = EVEN[:6]
    return n, draw.size("d_k", few if n > 64 else draw.one_of((few, EVEN, (n,) if n % 2 == 0 else few)))


def placed(draw: Draw, *kinds: str) -> None:
    """A statement about positions that the backend's domain excludes cannot be tried."""
    kind = draw.operation.domain.get("positions", "arbitrary")
    if kind not in (*kinds, "arbitrary"):
        raise NotImplementedVariant(f"its domain has {kind} positions alone")


def options(draw: Draw) -> dict[str, Any]:
    return draw.keyword("theta", THETA) | draw.keyword("layout", LAYOUTS)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    batch = draw.batch(BATCHES)
    n, d_k = dims(draw, 2049)
    return (draw.vectors((*batch, n, d_k)), draw.positions(batch, n)), options(draw)
