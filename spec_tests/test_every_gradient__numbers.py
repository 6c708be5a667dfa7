"""What must hold of the gradient of every elementwise operation, of every number that its dtype has."""

from .calls.gradient import Gradient
from .helpers.numbers import assert_every_number
from .inputs.draw import Draw
from .trials.invariant import invariant


@invariant("B", cost=16, needs=("about:elementwise",), each_dtype=True, max_examples=1)
def test_every_number(gradient: Gradient, draw: Draw) -> None:
    """The gradient is right at every number of 16 bits whose cube does not overflow or underflow, both zeros included. Of wider
    dtypes numbers are chosen as for the operation itself. The numbers stand in one row, in every second place of one, and in
    short rows.
    """
    assert_every_number(gradient, draw)
