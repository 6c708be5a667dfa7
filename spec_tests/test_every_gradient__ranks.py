"""What must hold of every gradient that is computed on several ranks: each rank's gradients are judged."""

from .calls.gradient import Gradient
from .helpers.ranks import assert_each_rank_conforms, assert_ranks_identical
from .inputs.draw import Draw
from .trials.invariant import invariant


@invariant("B", needs=("ranks",), each_dtype=True, about_state=True)
def test_ranks(gradient: Gradient, draw: Draw) -> None:
    """The gradients of every rank equal those of the equation, within the derived bound. Of an argument that every rank
    holds whole, each rank has the whole gradient, not its own part of it.
    """
    assert_each_rank_conforms(gradient, draw.call())


@invariant("E", level="rank-identical", needs=("ranks",), cost=2)
def test_rank_identical(gradient: Gradient, draw: Draw) -> None:
    """All ranks give the same bits."""
    assert_ranks_identical(gradient, draw.call())
