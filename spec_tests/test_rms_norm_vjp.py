"""What must hold of rms_norm's gradients."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved, exactly
from .helpers.normalization_gradients import draw_cotangent_rows_and_gain
from .inputs.draw import EPS, Draw
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (4), differentiated"


@invariant("B", source=EQUATION, needs=("keyword:eps",), cost=2)
def test_orthogonal(rms_norm_vjp: Operation, draw: Draw) -> None:
    """At ε = 0 each dx is orthogonal to x, whatever the gain: scaling a row changes nothing."""
    c, x, weight = draw_cotangent_rows_and_gain(draw)
    dx: Any = rms_norm_vjp(c, x, weight, eps=0.0, wrt="x")
    assert_equal(np.sum(exactly(x) * dx, axis=-1), 0.0)


@invariant("B", source=EQUATION, needs=("keyword:eps",), cost=2)
def test_along_the_row(rms_norm_vjp: Operation, draw: Draw) -> None:
    """At ε = 0 and gain 1 a cotangent along x gives 0: all of it is projected away."""
    _, x, weight = draw_cotangent_rows_and_gain(draw)
    assert_equal(rms_norm_vjp(x, x, np.ones_like(weight), eps=0.0, wrt="x"), 0.0)


@invariant("E", source=EQUATION, cost=2)
def test_gain_is_featurewise(rms_norm_vjp: Operation, draw: Draw) -> None:
    """Where only feature i has a cotangent, every other gain has a gradient of exactly 0."""
    c, x, weight = draw_cotangent_rows_and_gain(draw)
    others = np.arange(len(weight)) != draw.integer(0, len(weight) - 1)
    dweight = rms_norm_vjp(np.where(others, 0.0, c), x, weight, **draw.keyword("eps", EPS), wrt="weight").value[others]
    assert_identical(dweight, np.zeros(dweight.shape))


@invariant("B", source=EQUATION, cost=2)
def test_gain_s_gradient_ignores_the_gain(rms_norm_vjp: Operation, draw: Draw) -> None:
    """The gain's gradient does not depend on the gain, in which the equation is linear."""
    c, x, weight = draw_cotangent_rows_and_gain(draw)
    eps = draw.keyword("eps", EPS)
    one, other = (rms_norm_vjp(c, x, w, **eps, wrt="weight") for w in (weight, np.full_like(weight, -2.0)))
    assert_unmoved(other, one)


@invariant("B", source=EQUATION, cost=4)
def test_many_rows(rms_norm_vjp: Operation, draw: Draw) -> None:
    """Over thousands of rows the gain's gradient is still a sum: rows of ones under a cotangent of ones give 1/√(1 + ε) each."""
    d, n, eps = draw.size("d", (1, 2, 3)), draw.one_of((1025, 4097)), draw.keyword("eps", EPS)
    ones = np.ones((n, d))
    expected = np.full(d, float(n)) / np.sqrt(1 + exactly(eps["eps"]))
    assert_equal(rms_norm_vjp(ones, ones, draw.gain(d), **eps, wrt="weight"), expected)
