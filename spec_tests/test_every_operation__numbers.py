"""What must hold of every elementwise operation, of every number that its dtype has."""

from .calls.operation import Operation
from .helpers.numbers import assert_every_number
from .inputs.draw import Draw
from .trials.invariant import invariant


@invariant("B", cost=16, needs=("about:elementwise",), each_dtype=True, max_examples=1)
def test_every_number(operation: Operation, draw: Draw) -> None:
    """Every finite number of 16 bits has its own right answer, both zeros included. Of wider dtypes all exponents are tried,
    with chosen significands, and the numbers around the points at which code changes its formula. The numbers stand in one row,
    in every second place of one, and in short rows.
    """
    assert_every_number(operation, draw)
