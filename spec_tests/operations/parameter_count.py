"""How parameter_count is drawn."""

from typing import Any

from reference_numpy.parameter_count import parameter_count
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration

WIDTHS = (1, 2, 5, 16, 64, 96, 128, 768, 4096, 12288)  # of one head, or of all of them
STYLES = ("decoder", "encoder")


def draw_sizes(draw: Draw) -> dict[str, Any]:
    """Draw the sizes of a model with one parameter or with more than 32 bits can count.

    num_heads divides d_model, and num_kv_heads divides num_heads.
    """
    heads = draw.keyword("num_heads", (1, 2, 3, 4, 8, 12, 96))
    h = heads.get("num_heads", 1)
    shared = draw.keyword("num_kv_heads", (None, *(i for i in range(1, h + 1) if h % i == 0)))
    if h % (shared.get("num_kv_heads") or h):
        raise NotImplementedVariant(f"its domain has no num_kv_heads that divides num_heads = {h}")
    widths = (*(w * h for w in WIDTHS if w * h <= 16384), *(w for w in WIDTHS if w % h == 0))
    return {
        **draw.keyword("d_model", widths),
        **draw.keyword("d_ff", (1, 0, 3, 64, 1000, 11008, 49152)),
        **draw.keyword("num_layers", (1, 0, 2, 3, 7, 96, 300)),
        **heads,
        **shared,
        **draw.keyword("vocab_size", (0, 1, 7, 1000, 50257, 151936)),
    }


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (), draw_sizes(draw) | draw.keyword("style", STYLES)


declaration = Declaration(
    equation=parameter_count,
    arguments=arguments,
    precision="exact",
    dtype="int64",
    short=True,
)
