"""How gelu is drawn."""

from typing import Any

from reference_numpy.gelu import gelu
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

APPROXIMATIONS = ("none", "tanh")


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (d,) = draw.dims(d=5000)
    return (draw.points(draw.rows_or_less(d)),), draw.keyword("approximate", APPROXIMATIONS)


declaration = Declaration(
    equation=gelu,
    arguments=arguments,
    core={"x": 0},
    elementwise=True,
    choices={"approximate": APPROXIMATIONS},
)
