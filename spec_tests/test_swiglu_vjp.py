"""What must hold of swiglu's gradients."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, exactly
from .inputs.draw import Draw
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (7), differentiated"


def draw_arrays(draw: Draw) -> list[np.ndarray]:
    """Draw a cotangent, x, w1, w2 and w3."""
    d, h = draw.dims(d=65, h=65)
    n = draw.shape.one_of((3, 1, 8))
    return [draw.vectors((n, d)), draw.vectors((n, d)), draw.weight(h, d), draw.weight(d, h), draw.weight(h, d)]


@invariant("E", source=EQUATION, cost=2)
def test_silent_w2(swiglu_vjp: Operation, draw: Draw) -> None:
    """With w2 = 0 every gradient but its own is exactly 0."""
    c, x, w1, w2, w3 = draw_arrays(draw)
    for name in ("x", "w1", "w3"):
        silent = swiglu_vjp(c, x, w1, np.zeros_like(w2), w3, wrt=name)
        assert_identical(silent, np.zeros(silent.shape))


@invariant("B", source=EQUATION, cost=2)
def test_shut_gate(swiglu_vjp: Operation, draw: Draw) -> None:
    """With w1 = 0 the hidden units are 0: w2 and w3 have no gradient, and the gate passes half of it: SiLU'(0) = ½."""
    c, x, w1, w2, w3 = draw_arrays(draw)
    c, x, w2, w3 = (draw.grid(a.shape, largest=3) for a in (c, x, w2, w3))
    call = (c, x, np.zeros_like(w1), w2, w3)
    assert_equal(swiglu_vjp(*call, wrt="w2"), 0.0)
    assert_equal(swiglu_vjp(*call, wrt="w3"), 0.0)
    assert_equal(swiglu_vjp(*call, wrt="w1"), 0.5 * ((c @ w2 * (x @ w3.T)).T @ x))


@invariant("B", source="the book's exercise 7, differentiated", cost=2, needs=("keyword:b2",))
def test_biases_gain_what_is_summed(swiglu_vjp: Operation, draw: Draw) -> None:
    """The gradient of b2 is the sum of the cotangents, whatever the weights are."""
    c, x, w1, w2, w3 = draw_arrays(draw)
    b2 = draw.gain(x.shape[-1])
    cotangents: Any = exactly(c)
    total: Any = np.sum(cotangents, axis=0)
    assert_equal(swiglu_vjp(c, x, w1, w2, w3, b2=b2, wrt="b2"), total)
