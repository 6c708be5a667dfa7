"""How causal_mask is drawn."""

from typing import Any

from spec_tests.inputs.draw import Draw

precision = "exact"
dtype = "bool"

ALIGNMENTS = ("bottom-right", "top-left")


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    n, m = draw.dims(n=1025, m=1025)
    keywords = {"n": n, **draw.columns(m, n * n)}
    return (), keywords | draw.keyword("aligned", ALIGNMENTS)
