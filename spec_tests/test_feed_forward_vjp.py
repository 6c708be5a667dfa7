"""What must hold of feed_forward's gradients."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_identical
from .inputs.draw import Draw
from .trials.invariant import invariant

EQUATION = "Vaswani et al. 2017, eq. 2, differentiated"


@invariant("E", source=EQUATION, cost=2)
def test_closed_units(feed_forward_vjp: Operation, draw: Draw) -> None:
    """A unit of relu that is closed for every token has rows of w1 and columns of w2 with gradients of exactly 0."""
    d, h = draw.dims(d=65, h=65)
    n, closed = draw.one_of((3, 1, 8)), np.arange(h) % 2 == draw.integer(0, 1)
    x, w1 = np.abs(draw.normal((n, d))) + 0.5, np.abs(draw.normal((h, d))) + 0.5
    call = (draw.vectors((n, d)), draw.held(x), draw.held(np.where(closed[:, None], -w1, w1)), draw.weight(d, h))
    relu = draw.only("activation", "relu")
    for name, silent in (("w1", (closed,)), ("w2", (..., closed))):
        gradient = feed_forward_vjp(*call, **relu, wrt=name).value[silent]
        assert_identical(gradient, np.zeros(gradient.shape))


@invariant("E", source=EQUATION, cost=2)
def test_silent_w2(feed_forward_vjp: Operation, draw: Draw) -> None:
    """With w2 = 0 the gradients of x and w1 are exactly 0."""
    d, h = draw.dims(d=65, h=65)
    n = draw.one_of((3, 1, 8))
    x, w1 = draw.vectors((n, d)), draw.weight(h, d)
    activation = draw.keyword("activation", ("relu", "gelu"))
    for name in ("x", "w1"):
        silent = feed_forward_vjp(draw.vectors((n, d)), x, w1, np.zeros((d, h)), **activation, wrt=name)
        assert_identical(silent, np.zeros(silent.shape))
