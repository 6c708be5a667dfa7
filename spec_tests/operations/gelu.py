"""How gelu is tried."""

from typing import Any

from spec_tests.draw import MANY_ROWS, Draw

core = {"x": 0}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (d,) = draw.dims(d=5000)
    shape = draw.one_of(((*draw.batch(MANY_ROWS), d), (d,), ()))
    return (draw.points(shape),), draw.keyword("approximate", ("none", "tanh"))
