"""What must hold of an operation of several arrays whose batch axes are not the same. An implementation may refuse them."""

from .calls.operation import Operation
from .helpers.assertions import assert_conforms
from .helpers.broadcasting import draw_call_with_unequal_batches
from .helpers.optional import answer_broadcast
from .inputs.draw import Draw
from .trials.invariant import invariant


@invariant("B", needs=("about:broadcasts",))
def test_broadcasting(operation: Operation, draw: Draw) -> None:
    """Arrays whose batch axes are missing or have length one are broadcast: the result is that of the arrays repeated along
    these axes. A backend may refuse such a call with any exception.
    """
    assert_conforms(answer_broadcast(operation, draw_call_with_unequal_batches(draw)))
