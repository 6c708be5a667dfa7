"""What may hold of every operation in surroundings that no equation demands: other memory, other threads, and transforms."""

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant, add_fact
from .helpers.assertions import assert_same
from .implementation.layouts import MEMORIES
from .implementation.ways_of_calling import COMPILED, JVP, OTHER_THREAD, VMAP
from .inputs.draw import Draw
from .trials.invariant import invariant

TRANSFORMS = ("about:core", "transforms")


@invariant("B", level="any-memory", cost=8, needs=("about:core", "own memory"), max_examples=2, about_state=True)
def test_any_memory(operation: Operation, draw: Draw) -> None:
    """Arrays that begin at any place in memory, or whose numbers have the bytes of another machine, give what others give."""
    framework = operation.backend.framework
    memories = [memory for memory, frameworks in MEMORIES.items() if framework.name in frameworks]
    if not memories:
        raise NotImplementedVariant(f"{framework.name} chooses the memory of its arrays", "suite")
    call = draw.call()
    plain = operation.result(call)
    for memory in memories:
        with add_fact("stored", memory):
            assert_same(operation.values(call, operation.run(call, operation.native(call, memory))), plain)


@invariant("B", level="other-threads", cost=8, needs=("about:core", "own memory"), max_examples=2, about_state=True)
def test_other_threads(operation: Operation, draw: Draw) -> None:
    """A call from another thread gives what a call from the main thread gives."""
    assert_same_in_the_way(operation, draw, OTHER_THREAD)


@invariant("B", level="transforms", cost=4, needs=TRANSFORMS, dtypes=("float32",), max_examples=2)
def test_transforms(operation: Operation, draw: Draw) -> None:
    """Under vmap and jvp of its framework, an operation gives what it gives otherwise."""
    assert_same_in_the_way(operation, draw, VMAP, JVP)


@invariant("B", effort="thorough", level="compiled", cost=16, needs=TRANSFORMS, dtypes=("float32",), max_examples=2)
def test_compiled(operation: Operation, draw: Draw) -> None:
    """A function that its framework compiles gives what it gives otherwise."""
    assert_same_in_the_way(operation, draw, COMPILED)


# --- what the statements share --------------------------------------------------------------------------------------


def assert_same_in_the_way(operation: Operation, draw: Draw, *ways: str) -> None:
    """Assert that a call in each of these ways gives what a plain call gives."""
    call = draw.call()
    plain = operation.result(call)
    for way in ways:
        with add_fact("state", way):
            assert_same(operation.values(call, operation.run(call, operation.native(call), way)), plain)
