"""What must hold of an operation of several arrays whose batch axes are not the same. An implementation may refuse them."""

from .calls.operation import Operation
from .helpers.assertions import assert_conforms
from .helpers.broadcasting import draw_call_with_unequal_batches
from .helpers.optional import answer_broadcast
from .inputs.draw import Draw
from .trials.invariant import invariant


@invariant("B", needs=("about:broadcasts",))
def test_broadcasting(operation: Operation, draw: Draw) -> None:
    """Batch axes of one, or none, of some of the arrays are broadcast, as if the arrays were repeated along them; or the call is
    refused, by whatever exception."""
    assert_conforms(answer_broadcast(operation, draw_call_with_unequal_batches(draw)))
