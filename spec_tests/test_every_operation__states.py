"""What must hold of every operation in the states of a framework in which layers are called."""

from .calls.operation import Operation
from .calls.violation import add_fact
from .helpers.assertions import assert_same
from .helpers.batch import change_arguments
from .helpers.states import assert_conforms_in_autocast, assert_dtypes
from .implementation.states import AUTOCAST, AUTOCAST_DTYPE, CALL_STATES
from .inputs.draw import Draw
from .specification.tiers import SURROUNDINGS
from .trials.invariant import invariant


@invariant("B", cost=8, needs=("about:core", "states"), dtypes=("float32",), max_examples=4, about_state=True, tier=SURROUNDINGS)
def test_states(operation: Operation, draw: Draw) -> None:
    """Without gradients, in inference mode and with another default dtype, the operation gives what it gives otherwise, in the
    same dtype, also after a call with other values. Under autocast it gives that too, or what arithmetic in autocast's dtype may
    give."""
    call = draw.call()
    other, plain = change_arguments(call), operation.result(call)
    for state in CALL_STATES:
        with add_fact("state", state):
            operation.run(other, operation.native(other), state)
            result = operation.run(call, operation.native(call), state)
            values = operation.values(call, result)
            if state == AUTOCAST:
                assert_dtypes(operation, call, result, AUTOCAST_DTYPE)
                assert_conforms_in_autocast(operation, values, plain)
            else:
                assert_dtypes(operation, call, result)
                assert_same(values, plain)
