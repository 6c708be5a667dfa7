"""How attention_with_weights is drawn."""

from typing import Any

from spec_tests.inputs.draw import Draw
from spec_tests.operations.scaled_dot_product_attention import draw_inputs

composed = True
core = {"q": 2, "k": 2, "v": 2, "mask": 2}
results = {"out": "", "weights": ""}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    q, k, v, keywords = draw_inputs(draw, "mask", "is_causal", "scale")
    return (q, k, v), keywords
