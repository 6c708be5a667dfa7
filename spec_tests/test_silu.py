"""What must hold of silu."""

import numpy as np

from .bounds.bounded import Bounded
from .bounds.error_model import ROUNDINGS
from .bounds.expectation import Expectation
from .calls.operation import Operation
from .calls.result import WIDE
from .helpers.assertions import assert_equal, assert_finite, assert_identical, assert_within, exactly
from .helpers.elementwise import assert_elementwise, draw_points, draw_points_and_zeros, draw_points_with_vanishing_exponential
from .helpers.rows import draw_row_shape
from .inputs.draw import Draw
from .specification.formats import Arithmetic
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (5)"
OMEGA = 0.27846454276107379510935873902  # W(1/e): the root of ω e^ω = 1/e


@invariant("B", source=EQUATION)
def test_odd_part(silu: Operation, draw: Draw) -> None:
    """silu(x) − silu(−x) = x."""
    x = draw_points(draw)
    assert_equal(silu(x) - silu(-x), x)


@invariant("B", source=EQUATION)
def test_even_part(silu: Operation, draw: Draw) -> None:
    """silu(x) + silu(−x) = x tanh(x/2)."""
    x = draw_points(draw)
    assert_equal(silu(x) + silu(-x), exactly(x) * np.tanh(exactly(x) / 2))


@invariant("B", source=EQUATION)
def test_gate(silu: Operation, sigmoid: Operation, draw: Draw) -> None:
    """silu(x) = x σ(x)."""
    x = draw_points(draw)
    assert_equal(silu(x), exactly(x) * sigmoid(x))


@invariant("E", source=EQUATION)
def test_zero(silu: Operation, draw: Draw) -> None:
    """silu(0) is exactly 0, beside any other numbers."""
    x = draw_points_and_zeros(draw)
    assert_identical(silu(x).value[x == 0], np.zeros(np.sum(x == 0)))


@invariant("B", source=EQUATION)
def test_slope_at_zero(silu: Operation, draw: Draw) -> None:
    """Near 0, silu(x) = x/2 + x²/4, the next term being x⁴/48: the slope at 0 is ½."""
    x = draw.held(draw.rng.uniform(-1, 1, draw_row_shape(draw, d=300)) * 2.0 ** -(draw.format.precision // 2))
    square = np.square(exactly(x))
    beyond = Bounded(np.zeros(x.shape), x**4 / 48, WIDE)
    assert_equal(silu(x), exactly(x) / 2 + square / 4 + beyond)


@invariant("B", source=EQUATION)
def test_minimum(silu: Operation, draw: Draw) -> None:
    """Nothing is less than −ω = −0.27846, where ω e^ω = 1/e, and the value at −1 − ω = −1.27846 is just that."""
    assert_within(silu(draw_points(draw)), -OMEGA, np.inf)
    assert_equal(silu(np.full(draw_row_shape(draw, d=300), -1 - OMEGA)), -OMEGA)


@invariant("E", source=EQUATION)
def test_far_away(silu: Operation, draw: Draw) -> None:
    """Where e^−|x| vanishes silu(x) is exactly x on the right, up to the dtype's largest number, and exactly 0 on the left."""
    x = draw_points_with_vanishing_exponential(draw)
    assert_identical(silu(x), x)
    assert_identical(silu(-x), np.zeros(x.shape))


@invariant("F", source=EQUATION)
def test_no_overflow(silu: Operation, draw: Draw) -> None:
    """The result is finite for every finite x, up to the dtype's largest number, of either sign."""
    assert_finite(silu(np.where(draw.rng.random(size := draw_row_shape(draw, d=300)) < 0.5, draw.points(size), draw.format.max)))
    assert_finite(silu(-draw_points_with_vanishing_exponential(draw)))


@invariant("B", source=EQUATION)
def test_elementwise(silu: Operation, draw: Draw) -> None:
    """Changing one element, to the largest numbers too, changes its own result alone."""
    assert_elementwise(silu, draw, draw_points(draw))


@invariant("E", level="limits", source=EQUATION)
def test_infinities(silu: Operation, draw: Draw) -> None:
    """silu(+∞) = +∞ and silu(−∞) = 0: the limits, not −∞ · 0."""
    infinite = draw.rng.choice((np.inf, -np.inf), draw_row_shape(draw, d=300))
    assert_identical(silu(infinite), np.maximum(infinite, 0))


@invariant("B", level="relative-tails", source=EQUATION)
def test_relative_tail(silu: Operation, draw: Draw) -> None:
    """Left of 0 the error of x / (1 + e^−x) is relative: |y| u (6 + 4|x| + 5 + 2), for the exponential of an argument that
    large, the quotient, the sum and the product; and |x| times what underflows in e^x. Then one rounding to the dtype."""
    f, compute = draw.format, Arithmetic.of(silu.dtype).compute
    x = draw.held(draw.rng.uniform(np.log(f.tiny), 0, draw_row_shape(draw, d=300)))
    y = silu(x)
    truth = y.call.value
    roundings = ROUNDINGS["exp"] + 4 * np.abs(x) + ROUNDINGS["divide"] + 2
    error = np.abs(truth) * compute.u * roundings + np.abs(x) * compute.tiny
    assert_equal(y.value, Bounded(truth, Expectation(truth, error, f).radius, WIDE))
