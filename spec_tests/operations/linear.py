"""How linear is drawn."""

from typing import Any

from reference_numpy.linear import linear
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

TOKEN_BATCHES = ((), (1,), (3,), (8,), (13,), (2, 5), (4, 3), (33,), (2, 3, 4), (3, 2, 2), (2, 1, 2, 3), (129,), (3, 43))
SMALL_TOKEN_BATCHES = TOKEN_BATCHES[:-2]  # where each is sampled many times over


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    used = draw.variants("bias")
    d_in, d_out = draw.dims(d_in=4097, d_out=257)
    batch = draw.batch(TOKEN_BATCHES)
    weight = draw.weight(d_out, d_in, scales=(1.0, 8.0, 2.0**-12))
    return (draw.vectors((*batch, d_in)), weight), {"bias": draw.gain(d_out)} if "bias" in used else {}


declaration = Declaration(
    equation=linear,
    arguments=arguments,
    core={"x": 1},
    linear=("x", "weight", "bias"),
)
