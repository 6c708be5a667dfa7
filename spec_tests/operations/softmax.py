"""How softmax is drawn."""

from typing import Any

import numpy as np

from reference_numpy.softmax import softmax
from spec_tests.inputs.draw import MANY_ROWS, Draw
from spec_tests.specification.declaration import Declaration


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (n,) = draw.dims(n=5000)
    batch = draw.batch(MANY_ROWS)
    rank = len(batch) + 1
    axis = draw.keyword("axis", (-1, *range(rank), *range(-rank, -1)))
    return (np.moveaxis(draw.logits((*batch, n)), -1, axis["axis"]),), axis


declaration = Declaration(
    equation=softmax,
    arguments=arguments,
    core={"x": 1},
)
