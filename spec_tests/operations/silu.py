"""How silu is drawn."""

from typing import Any

from reference_numpy.silu import silu
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (d,) = draw.dims(d=5000)
    return (draw.points(draw.rows_or_less(d)),), {}


declaration = Declaration(
    equation=silu,
    arguments=arguments,
    core={"x": 0},
    elementwise=True,
)
