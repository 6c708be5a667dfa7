"""How causal_conv1d is drawn: sequences about as long as the filter, and longer ones."""

from typing import Any

import numpy as np

from reference_numpy.causal_conv1d import causal_conv1d
from spec_tests.inputs.draw import BATCHES, Draw, within_domain
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


def draw_filter(draw: Draw, *used: str, taps: tuple[int, ...] = TAPS, batches: tuple[tuple[int, ...], ...] = BATCHES) -> Conv:
    """Draw x and the taps, and those of the bias and the state that are used."""
    w = draw.size("past", tuple(w - 1 for w in taps)) + 1 if "past" in draw.operation.domain else draw.size("w", taps)
    d, n = draw.dims(d=65, n=257)
    shape = (*draw.batch(batches), d, draw_tokens(draw, n, w))
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


def draw_packed(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw several sequences, some of no tokens, that lie one behind the other; a single one where they cannot be given."""
    if not draw.operation.accepts("cu_seqlens"):
        return draw_inputs(draw, "bias", "state")
    within_domain(draw, batch_dims=0)
    used = draw.variants("bias", "state")
    x, weight, bias, _ = draw_filter(draw, *(used - {"state"}), batches=((),))
    past, members = weight.shape[-1] - 1, draw.one_of((3, 2, 1, 4))
    inner = [draw.near(0, past, low=0, high=x.shape[-1]) for _ in range(members - 1)]
    ends = np.array([0, *sorted(inner), x.shape[-1]])
    state = draw.array((members, *x.shape[:-1], past), VECTORS) if "state" in used else None
    return (x, weight, bias, state, ends), draw_options(draw)


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_inputs(draw, "bias", "state")


declaration = Declaration(
    equation=causal_conv1d,
    arguments=arguments,
    core={"x": 2, "state": 2},
    results={"out": "", "state": ""},
    choices={"activation": ACTIVATIONS},
    updates=("state",),
    structure=("cu_seqlens",),
    branches={"packed": draw_packed},
    short=True,
    linear=("x", "weight", "bias", "state"),
)
