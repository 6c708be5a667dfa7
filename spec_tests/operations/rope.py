"""How rope is tried."""

from typing import Any

from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import BATCHES, SIZES, SMALL, THETA, Draw

core = {"x": 2, "positions": 1}

EVEN = (2, 4, 6, 8, 10, *(size for size in SIZES if size > 8 and size % 2 == 0), 256, 256)
LAYOUTS = ("interleaved", "half")


def dims(draw: Draw, longest: int = 300) -> tuple[int, int]:
    """n tokens of d_k features: few tokens or few features, sometimes as many."""
    if draw.one_of((False, True)):
        n = draw.size("n", SMALL)
        return n, draw.size("d_k", EVEN[:6] if draw.long else EVEN)
    (n,) = draw.dims(n=longest)
    return n, draw.size("d_k", draw.shape.one_of((EVEN[:6], EVEN[:6], (n,) if n in EVEN else EVEN[:6])))


def placed(draw: Draw, *kinds: str) -> None:
    """A statement about positions that the backend's domain excludes cannot be tried."""
    kind = draw.operation.domain.get("positions", "arbitrary")
    if kind not in (*kinds, "arbitrary"):
        raise NotImplementedVariant(f"its domain has {kind} positions alone")


def options(draw: Draw) -> dict[str, Any]:
    return draw.keyword("theta", THETA) | draw.keyword("layout", LAYOUTS)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    n, d_k = dims(draw, 2049)
    batch = draw.batch(BATCHES)
    return (draw.vectors((*batch, n, d_k)), draw.positions(batch, n)), options(draw)
