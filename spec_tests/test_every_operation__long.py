"""What must hold of every operation where counts and indices grow large. Tried at thorough effort alone."""

import math
from typing import Any

import numpy as np

from .calls.call import Call
from .calls.operation import Operation
from .calls.result import Result
from .calls.violation import NotImplementedVariant, add_fact
from .helpers.assertions import assert_conforms, assert_true
from .helpers.batch import BATCHED, batch_shape, ensure_batch, stacked_arguments
from .inputs.draw import SEQUENCES, Draw
from .specification.pytree import leaves
from .specification.registry import result_ranks
from .specification.run_settings import current_settings
from .trials.invariant import invariant

INT32 = 2**31  # what a signed index of 32 bits cannot count to
GIGABYTE = 10**9
RESULTS_HELD = 4  # results that an operation may hold at a time
ARRAYS_IF_ANALYSED, ARRAYS_IF_SAMPLED = 10, 200  # float64 arrays of a call's size that its bound may take


@invariant("B", effort="thorough", cost=4, needs=("about:not short",))
def test_long(operation: Operation, draw: Draw) -> None:
    """Rows of 65 537 numbers and more, sequences of 8193 and batches of 65 537 give what the equation gives. Code fails here
    if a counter ends at 2¹⁵ or 2¹⁶, if a grid of blocks has a limit, or if a buffer has a fixed number of blocks.
    """
    call = draw.call(long=True)
    arrays = ARRAYS_IF_SAMPLED if operation.spec.composed else ARRAYS_IF_ANALYSED
    _require_memory(arrays * (call.size + call.value.size), 8, "its bound takes")
    if max((size for _, x in leaves([call.named, call.value]) for size in np.shape(x)), default=0) >= min(SEQUENCES):
        assert_conforms(operation.result(call))


@invariant("B", effort="thorough", cost=40, max_examples=4, needs=BATCHED)
def test_beyond_int32(operation: Operation, draw: Draw) -> None:
    """In a result of more than 2³¹ elements, as far as memory allows one, the entries of the batch are what they are in a small
    one: the first, those on both sides of that index, and the last."""
    call = ensure_batch(draw.call())
    if not call.value.size:
        return  # nothing to stack
    shapes = {part.name: part.shape for part in call.parts} if call.parts else {"": call.value.shape}
    batch = batch_shape(call)
    stacked = {name for name, shape in shapes.items() if not call.parts or _has_first_axis(call, name, shape, batch)}
    largest = max(math.prod(shapes[name]) for name in stacked) if stacked else 0
    if not largest:
        return
    copies = INT32 // largest + 2
    elements = sum(call.named[name].size for name in stacked_arguments(call)) + RESULTS_HELD * call.value.size
    _require_memory(copies * elements, operation.storage.bytes, "more than 2^31 elements take")
    native = _stack_batch(operation, call, copies)
    results = operation.by_name(operation.run(call, native))
    for name in stacked:
        found, shape = tuple(results[name].shape), (copies * shapes[name][0], *shapes[name][1:])
        assert_true(found == shape, f"{name or 'the result'} has shape {found}", expected=shape)
    for copy in (0, INT32 // largest, copies - 1):
        call.result = None
        rows = {name: slice(copy * shapes[name][0], (copy + 1) * shapes[name][0]) for name in stacked}
        with add_fact("stacked", f"{copies} times along the first axis; the rows from {rows[max(rows)].start} on"):
            part = {name: x[rows[name]] if name in stacked else x for name, x in results.items()}
            assert_conforms(Result(operation.values(call, part if call.parts else part[""]), call))


def _has_first_axis(call: Call, name: str, shape: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    """Whether one of several results has the first axis of the batch. It may lack axes, or have one of size 1."""
    ranks = result_ranks(call.operation.spec)
    return len(shape) - ranks.get(name, 0) == len(batch) and shape[0] == batch[0]


def _require_memory(elements: int, width: int, what: str) -> None:
    """Skip the law if arrays of that many elements, each of `width` bytes, exceed the memory budget."""
    needed, budget = elements * width / GIGABYTE, current_settings().memory_budget_gb
    if needed > budget:
        raise NotImplementedVariant(f"{what} about {needed:.1f} GB, and --memory-budget is {budget:g}", "suite")


def _stack_batch(operation: Operation, call: Call, copies: int) -> Any:
    """Return the call's native arguments, those with a batch repeated `copies` times along its first axis, on their device."""
    positional, keywords = operation.native(call)
    names, stack = stacked_arguments(call), operation.backend.framework.tile
    arguments = zip(operation.spec.positional, positional, strict=False)
    many = tuple(stack(x, copies) if name in names else x for name, x in arguments)
    return many, {name: stack(x, copies) if name in names else x for name, x in keywords.items()}
