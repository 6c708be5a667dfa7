"""How feed_forward is drawn."""

from typing import Any

from reference_numpy.feed_forward import feed_forward
from spec_tests.inputs.draw import Draw
from spec_tests.operations.linear import SMALL_TOKEN_BATCHES
from spec_tests.specification.declaration import Declaration

ACTIVATIONS = ("relu", "gelu")


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    used = draw.variants("b1", "b2")
    d, h = draw.dims(d=257, h=257)
    batch = draw.batch(SMALL_TOKEN_BATCHES)
    keywords = draw.keyword("activation", ACTIVATIONS)
    keywords |= {name: draw.gain(size) for name, size in (("b1", h), ("b2", d)) if name in used}
    return (draw.vectors((*batch, d)), draw.weight(h, d), draw.weight(d, h)), keywords


declaration = Declaration(
    equation=feed_forward,
    arguments=arguments,
    core={"x": 1},
    composed=True,
    choices={"activation": ACTIVATIONS},
    linear=("w2", "b2"),
)
