"""What must hold of sigmoid."""

import numpy as np

from .bounds.bounded import Bounded
from .bounds.error_model import ROUNDINGS
from .bounds.expectation import Expectation
from .calls.operation import Operation
from .calls.result import WIDE
from .helpers.assertions import assert_equal, assert_finite, assert_identical, assert_true, assert_within, exactly
from .helpers.elementwise import assert_elementwise, draw_points, draw_points_and_zeros, draw_points_with_vanishing_exponential
from .helpers.rows import draw_row_shape
from .inputs.draw import Draw
from .specification.formats import Arithmetic
from .trials.invariant import invariant

EQUATION = "the gate of CS336 assignment 1, eqs. (5) and (6)"


@invariant("B", source=EQUATION)
def test_complement(sigmoid: Operation, draw: Draw) -> None:
    """σ(x) + σ(−x) = 1."""
    x = draw_points(draw)
    assert_equal(sigmoid(x) + sigmoid(-x), 1.0)


@invariant("B", source=EQUATION)
def test_hyperbolic_tangent(sigmoid: Operation, draw: Draw) -> None:
    """σ(x) − σ(−x) = tanh(x/2)."""
    x = draw_points(draw)
    assert_equal(sigmoid(x) - sigmoid(-x), np.tanh(exactly(x) / 2))


@invariant("B", source=EQUATION)
def test_odds(sigmoid: Operation, draw: Draw) -> None:
    """The odds are exponential: σ(x) = e^x σ(−x), for x ≤ 0."""
    x = -np.abs(draw_points(draw))
    assert_equal(sigmoid(x), np.exp(exactly(x)) * sigmoid(-x))


@invariant("B", source="CS336 assignment 1, eq. (10)")
def test_softmax_of_two(sigmoid: Operation, softmax: Operation, draw: Draw) -> None:
    """σ(x) is the first entry of softmax([x, 0])."""
    x = draw_points(draw)
    assert_equal(sigmoid(x), softmax(np.stack([x, np.zeros_like(x)], axis=-1), axis=-1)[..., 0])


@invariant("E", source=EQUATION)
def test_half_at_zero(sigmoid: Operation, draw: Draw) -> None:
    """σ(0) is exactly ½, beside any other numbers."""
    x = draw_points_and_zeros(draw)
    assert_identical(sigmoid(x).value[x == 0], np.full(np.sum(x == 0), 0.5))


@invariant("E", source=EQUATION)
def test_between_zero_and_one(sigmoid: Operation, draw: Draw) -> None:
    """0 ≤ σ(x) ≤ 1, without any rounding beyond either end."""
    y = sigmoid(draw_points(draw)).value
    assert_true(bool(np.all((y >= 0) & (y <= 1))), "some value lies outside [0, 1]", least=np.min(y), largest=np.max(y))


@invariant("B", source=EQUATION)
def test_increasing(sigmoid: Operation, draw: Draw) -> None:
    """x ≥ z implies σ(x) ≥ σ(z), up to the rounding of each."""
    y = sigmoid(np.sort(draw_points(draw), axis=-1))
    assert_within(y[..., 1:], y[..., :-1], np.inf)


@invariant("F", source=EQUATION)
def test_no_overflow(sigmoid: Operation, draw: Draw) -> None:
    """The result is finite for every x, up to the dtype's largest number, and at ±∞."""
    x = draw_points_with_vanishing_exponential(draw) * draw.rng.choice((1.0, -1.0), size=())
    assert_finite(sigmoid(np.where(draw.rng.random(x.shape) < 0.1, np.sign(x) * np.inf, x)))


@invariant("E", source=EQUATION)
def test_saturation(sigmoid: Operation, draw: Draw) -> None:
    """Where e^−|x| vanishes σ is exactly 1 on the right and exactly 0 on the left, up to the largest numbers and at ±∞."""
    x = draw_points_with_vanishing_exponential(draw)
    x = np.where(draw.rng.random(x.shape) < 0.1, np.inf, x)
    assert_identical(sigmoid(x), np.ones(x.shape))
    assert_identical(sigmoid(-x), np.zeros(x.shape))


@invariant("B", source=EQUATION)
def test_elementwise(sigmoid: Operation, draw: Draw) -> None:
    """Changing one element, to the largest numbers too, changes its own result alone."""
    assert_elementwise(sigmoid, draw, draw_points(draw))


@invariant("B", level="relative-tails", source=EQUATION)
def test_relative_tail(sigmoid: Operation, draw: Draw) -> None:
    """Left of 0 the error of 1 / (1 + e^−x) is relative: y u (6 + 4|x| + 5 + 1), for the exponential of an argument that large,
    the quotient and the sum; and what underflows in e^x. Then one rounding to the dtype."""
    f, compute = draw.format, Arithmetic.of(sigmoid.dtype).compute
    x = draw.held(draw.rng.uniform(np.log(f.tiny), 0, draw_row_shape(draw, d=300)))
    y = sigmoid(x)
    truth = y.call.value
    error = truth * compute.u * (ROUNDINGS["exp"] + 4 * np.abs(x) + ROUNDINGS["divide"] + 1) + compute.tiny
    assert_equal(y.value, Bounded(truth, Expectation(truth, error, f).radius, WIDE))
