"""What must hold of layer_norm's gradients."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, exactly
from .helpers.normalization_gradients import draw_cotangent_rows_and_gain
from .inputs.draw import EPS, Draw
from .trials.invariant import invariant

EQUATION = "Ba, Kiros and Hinton 2016, eq. 4, differentiated"


@invariant("B", source=EQUATION, cost=2)
def test_sums_to_zero(layer_norm_vjp: Operation, draw: Draw) -> None:
    """Each dx sums to zero, whatever the gain and ε: an offset of the row changes nothing."""
    c, x, weight = draw_cotangent_rows_and_gain(draw)
    dx: Any = layer_norm_vjp(c, x, weight, draw.gain(len(weight)), **draw.keyword("eps", EPS), wrt="x")
    assert_equal(np.sum(dx, axis=-1), 0.0)


@invariant("B", source=EQUATION, needs=("keyword:eps",), cost=2)
def test_orthogonal(layer_norm_vjp: Operation, draw: Draw) -> None:
    """At ε = 0 each dx is orthogonal to x: scaling the deviations from the mean changes nothing."""
    c, x, weight = draw_cotangent_rows_and_gain(draw)
    dx: Any = layer_norm_vjp(c, x, weight, draw.gain(len(weight)), eps=0.0, wrt="x")
    assert_equal(np.sum(exactly(x) * dx, axis=-1), 0.0)


@invariant("B", source=EQUATION, cost=2)
def test_bias_gathers_the_cotangent(layer_norm_vjp: Operation, draw: Draw) -> None:
    """The bias's gradient is the sum of the cotangent over all rows."""
    c, x, weight = draw_cotangent_rows_and_gain(draw)
    c = draw.grid(c.shape, step=1.0, largest=1)  # so that every order of the sum is exact, in 16 bits too
    dbias: Any = layer_norm_vjp(c, x, weight, draw.gain(len(weight)), **draw.keyword("eps", EPS), wrt="bias")
    assert_equal(dbias, np.sum(c.reshape(-1, len(weight)), axis=0))


@invariant("E", source=EQUATION, cost=2)
def test_gain_and_bias_are_featurewise(layer_norm_vjp: Operation, draw: Draw) -> None:
    """Where only feature i has a cotangent, every other gain and bias have a gradient of exactly 0."""
    c, x, weight = draw_cotangent_rows_and_gain(draw)
    others = np.arange(len(weight)) != draw.integer(0, len(weight) - 1)
    arguments = (np.where(others, 0.0, c), x, weight, draw.gain(len(weight)))
    eps = draw.keyword("eps", EPS)
    for name in ("weight", "bias"):
        silent = layer_norm_vjp(*arguments, **eps, wrt=name).value[others]
        assert_identical(silent, np.zeros(silent.shape))


@invariant("B", source=EQUATION, cost=4)
def test_many_rows(layer_norm_vjp: Operation, draw: Draw) -> None:
    """Over thousands of rows the bias's gradient is still a sum: a cotangent of ones gives the number of rows."""
    d, n = draw.size("d", (1, 2, 3)), draw.shape.one_of((1025, 4097))
    x, weight = draw.normal((n, d)), draw.gain(d)
    dbias = layer_norm_vjp(np.ones((n, d)), x, weight, draw.gain(d), **draw.keyword("eps", EPS), wrt="bias")
    assert_equal(dbias, np.full(d, float(n)))
