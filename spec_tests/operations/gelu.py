"""How gelu is drawn."""

from typing import Any

from spec_tests.inputs.draw import Draw

core = {"x": 0}
choices = {"approximate": ("none", "tanh")}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (d,) = draw.dims(d=5000)
    return (draw.points(draw.rows_or_less(d)),), draw.keyword("approximate", choices["approximate"])
