"""What must hold of silu's gradient."""

from .assertions import assert_equal
from .draw import Draw
from .invariant import invariant
from .operation import Operation
from .slopes import assert_at_zero, assert_elementwise, opposite


@invariant("B", cost=2)
def test_opposite_slopes(silu_vjp: Operation, draw: Draw) -> None:
    """The slopes at x and −x sum to one, since silu(x) − silu(−x) = x."""
    c, here, there = opposite(silu_vjp, draw)
    assert_equal(here + there, c)


@invariant("B", cost=2)
def test_half_at_zero(silu_vjp: Operation, draw: Draw) -> None:
    """The slope at 0 is 1/2."""
    assert_at_zero(silu_vjp, draw, 0.5)


@invariant("E", cost=2)
def test_elementwise(silu_vjp: Operation, draw: Draw) -> None:
    """Where only one element has a cotangent, every other has a gradient of exactly 0."""
    assert_elementwise(silu_vjp, draw)
