"""What must hold of glu's gradients."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical
from .inputs.draw import Draw
from .trials.invariant import invariant

EQUATION = "Dauphin et al. 2017, eq. 3"


def draw_arrays(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw a cotangent, x, w1 and w2."""
    d, h = draw.dims(d=129, h=129)
    n = draw.shape.one_of((3, 1, 8))
    return draw.vectors((n, h)), draw.vectors((n, d)), draw.weight(h, d), draw.weight(h, d)


@invariant("B", source=EQUATION, cost=2)
def test_half_open(glu_vjp: Operation, draw: Draw) -> None:
    """With w1 = 0 every gate is half open, and w2's gradient is half that of a linear map."""
    c, x, w1, w2 = draw_arrays(draw)
    c, x = draw.grid(c.shape), draw.grid(x.shape)
    assert_equal(glu_vjp(c, x, np.zeros_like(w1), w2, wrt="w2"), 0.5 * (c.T @ x))


@invariant("E", source=EQUATION, cost=2)
def test_silent_signal(glu_vjp: Operation, draw: Draw) -> None:
    """With w2 = 0 nothing passes the gate: w1's gradient is exactly 0."""
    c, x, w1, w2 = draw_arrays(draw)
    assert_identical(glu_vjp(c, x, w1, np.zeros_like(w2), wrt="w1"), np.zeros(w1.shape))
