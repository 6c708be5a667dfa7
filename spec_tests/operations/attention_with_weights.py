"""How attention_with_weights is drawn."""

from typing import Any

from reference_numpy.attention_with_weights import attention_with_weights
from spec_tests.inputs.draw import Draw
from spec_tests.operations.scaled_dot_product_attention import draw_fully_masked_rows, draw_inputs, draw_unequal_causality
from spec_tests.specification.declaration import Declaration


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    q, k, v, keywords = draw_inputs(draw, "mask", "is_causal", "scale")
    return (q, k, v), keywords


declaration = Declaration(
    equation=attention_with_weights,
    arguments=arguments,
    core={"q": 2, "k": 2, "v": 2, "mask": 2},
    composed=True,
    results={"out": "", "weights": ""},
    open_questions={"causal_alignment": draw_unequal_causality, "fully_masked_rows": draw_fully_masked_rows},
    linear=("v",),
)
