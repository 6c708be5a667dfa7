"""How glu is drawn."""

from typing import Any

from reference_numpy.glu import glu
from spec_tests.inputs.draw import Draw
from spec_tests.operations.linear import TOKEN_BATCHES
from spec_tests.operations.swiglu import draw_biases
from spec_tests.specification.declaration import Declaration


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    d, h = draw.dims(d=1025, h=257)
    batch = draw.batch(TOKEN_BATCHES)
    gate = draw.weight(h, d, scales=(1.0, 4.0, 30.0))  # half open, or nearly shut and nearly open
    arrays = draw.vectors((*batch, d)), gate, draw.weight(h, d, scales=(1.0, 2.0**-12))
    return arrays, draw_biases(draw, {"b1": h, "b2": h})


declaration = Declaration(
    equation=glu,
    arguments=arguments,
    core={"x": 1},
    linear=("w2", "b2"),
)
