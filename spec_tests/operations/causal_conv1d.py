"""How causal_conv1d is drawn: sequences about as long as the filter, and longer ones."""

from typing import Any

import numpy as np

from reference_numpy.causal_conv1d import causal_conv1d
from spec_tests.inputs.draw import BATCHES, Draw
from spec_tests.inputs.regimes import VECTORS
from spec_tests.specification.declaration import Declaration

TAPS = (4, 2, 3, 4, 1, 5, 8)
ACTIVATIONS = (None, "silu")
Conv = tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]  # x, weight, bias, state


def draw_tokens(draw: Draw, n: int, w: int) -> int:
    """Return n, or draw a number of tokens about that of the columns that a state has, or a single one."""
    if draw.long or draw.small or draw.one_of((True, False)):
        return n
    return draw.size("n", tuple(sorted({size for size in (1, 0, w - 2, w - 1, w, w + 1) if size >= 0})))


def draw_filter(draw: Draw, *used: str, taps: tuple[int, ...] = TAPS) -> Conv:
    """Draw x and the taps, and those of the bias and the state that are used."""
    w = draw.size("past", tuple(w - 1 for w in taps)) + 1 if "past" in draw.operation.domain else draw.size("w", taps)
    d, n = draw.dims(d=65, n=257)
    shape = (*draw.batch(BATCHES), d, draw_tokens(draw, n, w))
    x, weight = draw.array(shape, VECTORS), draw.held(draw.rng.standard_normal((d, w)) / np.sqrt(w))
    bias = draw.normal((d,)) if "bias" in used else None
    state = draw.array((*shape[:-1], w - 1), VECTORS) if "state" in used else None
    return x, weight, bias, state


def draw_options(draw: Draw) -> dict[str, Any]:
    """Draw the activation."""
    return draw.keyword("activation", ACTIVATIONS)


def draw_inputs(draw: Draw, *names: str) -> tuple[Conv, dict[str, Any]]:
    """Draw a call with some of the optional arguments, and its keywords."""
    return draw_filter(draw, *draw.variants(*names)), draw_options(draw)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_inputs(draw, "bias", "state")


declaration = Declaration(
    equation=causal_conv1d,
    arguments=arguments,
    core={"x": 2, "state": 2},
    results={"out": "", "state": ""},
    choices={"activation": ACTIVATIONS},
    updates=("state",),
    short=True,
    linear=("x", "weight", "state"),
)
