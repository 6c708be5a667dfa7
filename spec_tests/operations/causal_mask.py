"""How causal_mask is drawn."""

from typing import Any

from reference_numpy.causal_mask import causal_mask
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

ALIGNMENTS = ("bottom-right", "top-left")


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    n, m = draw.dims(n=1025, m=1025)
    keywords = {"n": n, **draw.columns(m, n * n)}
    return (), keywords | draw.keyword("aligned", ALIGNMENTS)


declaration = Declaration(
    equation=causal_mask,
    arguments=arguments,
    precision="exact",
    dtype="bool",
)
