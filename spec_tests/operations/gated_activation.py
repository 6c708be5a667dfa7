"""How gated_activation is drawn."""

from typing import Any

from spec_tests.inputs.draw import Draw, single

core = {"x": 1}
changeable = ("limit", "offset")

ACTIVATIONS = ("silu", "gelu", "gelu_tanh", "relu", "sigmoid")
LAYOUTS = ("concatenated", "interleaved")
LIMITS = (None, None, 7.0, 1.0, 0.5, 0.0)
ALPHAS = single(1.0, 1.0, 1.702, 0.25, 3.0)
OFFSETS = (0.0, 0.0, 1.0, -0.5)

choices = {"activation": ACTIVATIONS, "layout": LAYOUTS, "gate": ("first", "second")}


def draw_options(draw: Draw, *, activations: tuple[str, ...] = ACTIVATIONS) -> dict[str, Any]:
    """Draw every keyword. Alpha is 1 unless the activation is silu."""
    options = draw.keyword("activation", activations)
    alphas = ALPHAS if options.get("activation", "silu") == "silu" else (1.0,)
    return {
        **options,
        **draw.keyword("layout", LAYOUTS),
        **draw.keyword("gate", ("first", "second")),
        **draw.keyword("limit", LIMITS),
        **draw.keyword("alpha", alphas),
        **draw.keyword("offset", OFFSETS),
    }


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (h,) = draw.dims(h=2049)
    rows = (*draw.batch(), 2 * h)
    return (draw.points(rows),), draw_options(draw)
