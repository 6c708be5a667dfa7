"""How swiglu is drawn."""

from typing import Any

from spec_tests.inputs.draw import Draw
from spec_tests.operations.linear import SMALL_TOKEN_BATCHES

composed = True
core = {"x": 1}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    d, h = draw.dims(d=257, h=257)
    batch = draw.batch(SMALL_TOKEN_BATCHES)
    gate = draw.weight(h, d, scales=(1.0, 4.0, 30.0))
    return (draw.vectors((*batch, d)), gate, draw.weight(d, h), draw.weight(h, d)), {}
