"""What must hold of every operation that runs on several ranks: each rank's answer is judged, not only the first one's."""

from .calls.operation import Operation
from .helpers.ranks import assert_each_rank_conforms, assert_ranks_identical
from .inputs.draw import Draw
from .trials.invariant import invariant


@invariant("B", needs=("ranks",), each_dtype=True, about_state=True)
def test_ranks(operation: Operation, draw: Draw) -> None:
    """The answer of every rank equals the equation, within the derived bound."""
    assert_each_rank_conforms(operation, draw.call())


@invariant("E", level="rank-identical", needs=("ranks",))
def test_rank_identical(operation: Operation, draw: Draw) -> None:
    """All ranks give the same bits."""
    assert_ranks_identical(operation, draw.call())
