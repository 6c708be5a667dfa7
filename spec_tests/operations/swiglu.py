"""How swiglu is drawn."""

from typing import Any

from reference_numpy.swiglu import swiglu
from spec_tests.inputs.draw import Draw
from spec_tests.operations.linear import SMALL_TOKEN_BATCHES
from spec_tests.specification.declaration import Declaration


def draw_biases(draw: Draw, lengths: dict[str, int]) -> dict[str, Any]:
    """Draw some of the biases that the function takes: none, one, two or all. `lengths` are theirs."""
    used = draw.variants(*lengths)
    return {name: draw.gain(n) for name, n in lengths.items() if name in used}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    d, h = draw.dims(d=257, h=257)
    batch = draw.batch(SMALL_TOKEN_BATCHES)
    gate = draw.weight(h, d, scales=(1.0, 4.0, 30.0))
    x = draw.vectors((*batch, d))
    return (x, gate, draw.weight(d, h), draw.weight(h, d)), draw_biases(draw, {"b1": h, "b2": d, "b3": h})


declaration = Declaration(
    equation=swiglu,
    arguments=arguments,
    core={"x": 1},
    composed=True,
    linear=("w2", "b2", "w3", "b3"),
)
