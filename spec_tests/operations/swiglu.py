"""How swiglu is tried."""

from typing import Any

from spec_tests.draw import Draw
from spec_tests.operations.linear import FEW_TOKENS

composed = True
core = {"x": 1}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    batch = draw.batch(FEW_TOKENS)
    d, h = draw.dims(d=257, h=257)
    gate = draw.weight(h, d) * draw.one_of((1.0, 4.0, 30.0))
    return (draw.vectors((*batch, d)), draw.held(gate), draw.weight(d, h), draw.weight(h, d)), {}
