"""How linear_attention_gate is drawn: rates as models have them, and numbers where softplus bends and where it is straight."""

from typing import Any, NamedTuple

import numpy as np

from reference_numpy.linear_attention_gate import linear_attention_gate
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import WIDER

HEADS, TOKENS, WIDTHS = (2, 1, 3, 4, 8), (3, 1, 2, 5, 8, 17, 64, 0), (1, 4, 2, 3, 8, 16)
LOWER_BOUNDS = (None, -5.0, -1.0, -0.5, -200.0)
BATCHES = ((), (2,), (1,), (3,), (2, 2))
STRAIGHT = 20.0  # beyond which torch's softplus is the identity


class Gate(NamedTuple):
    """The arrays of a call, in the order of the arguments."""

    x: np.ndarray
    a_log: np.ndarray
    dt_bias: np.ndarray | None = None


def wide(draw: Draw, x: Any) -> np.ndarray:
    """Round to the format of rates and biases."""
    return np.asarray(draw.operation.argument_format("a_log").round(x))


def draw_gate(draw: Draw, *used: str) -> Gate:
    """Draw the arrays of a call, with a bias if it is used."""
    h, n, d = draw.size("h", HEADS), draw.size("n", TOKENS), draw.size("d", WIDTHS)
    shape = (*draw.batch(BATCHES), h, n, d)
    kind = draw.one_of(draw.planned("gates", ("ordinary", "wide", "near 0", "deep")))
    sizes = {"ordinary": 2.0, "wide": 20.0, "near 0": 0.05, "deep": 100.0}
    x = draw.rng.uniform(-1, 1, shape) * sizes[kind]
    x = np.where(draw.rng.random(shape) < draw.one_of((0.0, 0.1)), 0.0, x)
    bias = wide(draw, draw.rng.uniform(-4, 1, (h, d))) if "dt_bias" in used else None
    x = draw.held(x)
    if draw.operation.dtype == "float64":  # after it is rounded to few bits, which may carry it above
        x = np.minimum(x, STRAIGHT - 1)
    return Gate(x, wide(draw, np.log(draw.rng.uniform(0.01, 16, h))), bias)


def draw_call(draw: Draw, *names: str) -> tuple[Gate, dict[str, Any]]:
    """Draw a call with some of the optional arguments, and its keywords."""
    return draw_gate(draw, *draw.variants(*names)), draw.keyword("lower_bound", LOWER_BOUNDS)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_call(draw, "dt_bias")


declaration = Declaration(
    equation=linear_attention_gate,
    arguments=arguments,
    core={"x": 3},
    precision="fused",
    results={"": WIDER},
    wide_arguments=("a_log", "dt_bias"),
    changeable=("lower_bound",),
    short=True,
)
