"""What must hold of sigmoid's gradient."""

from .calls.operation import Operation
from .helpers.assertions import assert_equal
from .helpers.elementwise_gradients import assert_gradient_elementwise, assert_slope_at_zero, differentiate_at_opposite_points
from .inputs.draw import Draw
from .trials.invariant import invariant


@invariant("B", cost=2)
def test_even(sigmoid_vjp: Operation, draw: Draw) -> None:
    """The slopes at x and −x are equal, since σ(x) + σ(−x) = 1."""
    _, here, there = differentiate_at_opposite_points(sigmoid_vjp, draw)
    assert_equal(here, there)


@invariant("B", cost=2)
def test_quarter_at_zero(sigmoid_vjp: Operation, draw: Draw) -> None:
    """The slope at 0 is 1/4."""
    assert_slope_at_zero(sigmoid_vjp, draw, 0.25)


@invariant("E", cost=2)
def test_elementwise(sigmoid_vjp: Operation, draw: Draw) -> None:
    """Where only one element has a cotangent, every other has a gradient of exactly 0."""
    assert_gradient_elementwise(sigmoid_vjp, draw)
