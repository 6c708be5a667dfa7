"""How glu is tried."""

from typing import Any

from spec_tests.draw import Draw
from spec_tests.operations.linear import TOKENS

core = {"x": 1}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    batch = draw.batch(TOKENS)
    d, h = draw.dims(d=1025, h=257)
    gate = draw.weight(h, d) * draw.one_of((1.0, 4.0, 30.0))  # half open, or nearly shut and nearly open
    return (draw.vectors((*batch, d)), draw.held(gate), draw.weight(h, d)), {}
