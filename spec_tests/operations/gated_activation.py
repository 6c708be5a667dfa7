"""How gated_activation is drawn."""

from typing import Any

from reference_numpy.gated_activation import gated_activation
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw, single
from spec_tests.specification.declaration import Declaration

ACTIVATIONS = ("silu", "gelu", "gelu_tanh", "relu", "sigmoid")
LAYOUTS = ("concatenated", "interleaved")
LIMITS = (None, None, 7.0, 1.0, 0.5, 0.0)
ALPHAS = single(1.0, 1.0, 1.702, 0.25, 3.0)
OFFSETS = (0.0, 0.0, 1.0, -0.5)


def draw_options(draw: Draw, *, activations: tuple[str, ...] = ACTIVATIONS) -> dict[str, Any]:
    """Draw every keyword. Alpha is 1 unless the activation is silu."""
    options = draw_gate(draw, activations=activations)
    packing = {**draw.keyword("layout", LAYOUTS), **draw.keyword("gate", ("first", "second"))}
    return options | packing


def draw_gate(draw: Draw, *, activations: tuple[str, ...] = ACTIVATIONS) -> dict[str, Any]:
    """Draw the keywords of the gate itself, however the array is packed. Alpha is 1 unless the activation is silu."""
    has_one = 1.0 in draw.operation.domain.get("alpha", (1.0,))
    options = draw.keyword("activation", activations if has_one else ("silu",))
    if options.get("activation", "silu") == "silu":
        alpha = draw.keyword("alpha", ALPHAS)
    elif has_one:
        alpha = {"alpha": 1.0} if draw.operation.accepts("alpha") else {}
    else:
        raise NotImplementedVariant(f"its domain has no alpha of 1, which {options['activation']} needs")
    return {**options, **draw.keyword("limit", LIMITS), **alpha, **draw.keyword("offset", OFFSETS)}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (h,) = draw.dims(h=2049)
    rows = (*draw.batch(), 2 * h)
    return (draw.points(rows),), draw_options(draw)


declaration = Declaration(
    equation=gated_activation,
    arguments=arguments,
    core={"x": 1},
    choices={"layout": LAYOUTS, "gate": ("first", "second")},  # not the activation: alpha is 1 unless it is silu
    changeable=("limit", "offset"),
)
