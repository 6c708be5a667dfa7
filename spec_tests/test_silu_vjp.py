"""What must hold of silu's gradient."""

from .calls.operation import Operation
from .helpers.assertions import assert_equal
from .helpers.elementwise_gradients import assert_gradient_elementwise, assert_slope_at_zero, differentiate_at_opposite_points
from .inputs.draw import Draw
from .trials.invariant import invariant


@invariant("B", cost=2)
def test_opposite_slopes(silu_vjp: Operation, draw: Draw) -> None:
    """The slopes at x and −x sum to one, since silu(x) − silu(−x) = x."""
    c, here, there = differentiate_at_opposite_points(silu_vjp, draw)
    assert_equal(here + there, c)


@invariant("B", cost=2)
def test_half_at_zero(silu_vjp: Operation, draw: Draw) -> None:
    """The slope at 0 is 1/2."""
    assert_slope_at_zero(silu_vjp, draw, 0.5)


@invariant("E", cost=2)
def test_elementwise(silu_vjp: Operation, draw: Draw) -> None:
    """Where only one element has a cotangent, every other has a gradient of exactly 0."""
    assert_gradient_elementwise(silu_vjp, draw)
