"""How rope is drawn."""

from typing import Any

from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import BATCHES, SIZES, SMALL, THETA, Draw

core = {"x": 2, "positions": 1}

EVEN_WIDTHS = (2, 4, 6, 8, 10, *(size for size in SIZES if size > 8 and size % 2 == 0), 256, 256)
LAYOUTS = ("interleaved", "half")
choices = {"layout": LAYOUTS}


def draw_dims(draw: Draw, longest: int = 300) -> tuple[int, int]:
    """Draw n and d_k: few tokens or few features, sometimes as many of both."""
    if draw.one_of((False, True)):
        n = draw.size("n", SMALL)
        return n, draw.size("d_k", EVEN_WIDTHS[:6] if draw.long else EVEN_WIDTHS)
    (n,) = draw.dims(n=longest)
    return n, draw.size(
        "d_k", draw.shape.one_of((EVEN_WIDTHS[:6], EVEN_WIDTHS[:6], (n,) if n in EVEN_WIDTHS else EVEN_WIDTHS[:6]))
    )


def require_positions(draw: Draw, *kinds: str) -> None:
    """Skip the law unless the backend's domain has arbitrary positions, or positions of one of these kinds."""
    kind = draw.operation.domain.get("positions", "arbitrary")
    if kind not in (*kinds, "arbitrary"):
        raise NotImplementedVariant(f"its domain has {kind} positions alone")


def draw_options(draw: Draw) -> dict[str, Any]:
    """Draw theta and layout."""
    return draw.keyword("theta", THETA) | draw.keyword("layout", LAYOUTS)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    n, d_k = draw_dims(draw, 2049)
    batch = draw.batch(BATCHES)
    return (draw.vectors((*batch, n, d_k)), draw.positions(batch, n)), draw_options(draw)
