"""What must hold of every operation where counts and indices grow large. Most of it is tried at thorough effort alone."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from .calls.call import Call
from .calls.given import Given
from .calls.operation import Operation
from .calls.result import Result
from .calls.violation import NotImplementedVariant, add_fact
from .helpers.assertions import assert_conforms, assert_true
from .helpers.batch import BATCHED, batch_shape, ensure_batch, stacked_arguments
from .helpers.storage import native_as_given
from .implementation.framework import CannotMakeArray
from .inputs.draw import SEQUENCES, Draw
from .specification.pytree import leaves
from .specification.registry import has_named_batch, result_ranks
from .specification.run_settings import current_settings
from .specification.tiers import CALLS
from .trials.invariant import invariant

INT32 = 2**31  # what a signed index of 32 bits cannot count to
GIGABYTE = 10**9
MANY_ENTRIES = 2**16 + 1  # of a batch
MAX_MANY_ELEMENTS = 3 * 2**20  # of the arguments and the results of a call with many entries
MANY_ENTRIES_TRIES = 8  # calls that are drawn until one is small enough
RESULTS_HELD = 4  # results that an operation may hold at a time
ARRAYS_IF_ANALYSED, ARRAYS_IF_SAMPLED = 10, 200  # float64 arrays of a call's size that its bound may take


@invariant("B", effort="thorough", cost=4, needs=("about:not short",), tier=CALLS)
def test_long(operation: Operation, draw: Draw) -> None:
    """Rows of 65 537 numbers and more, sequences of 8193 and batches of 65 537 give what the equation gives. Code fails here
    if a counter ends at 2¹⁵ or 2¹⁶, if a grid of blocks has a limit, or if a buffer has a fixed number of blocks.
    """
    call = draw.call(long=True)
    arrays = ARRAYS_IF_SAMPLED if operation.spec.composed else ARRAYS_IF_ANALYSED
    _require_memory(arrays * (call.size + call.value.size), 8, "its bound takes")
    if max((size for _, x in leaves([call.named, call.value]) for size in np.shape(x)), default=0) >= min(SEQUENCES):
        assert_conforms(operation.result(call))


@invariant("B", effort="thorough", cost=40, max_examples=4, needs=BATCHED, tier=CALLS)
def test_beyond_int32(operation: Operation, draw: Draw) -> None:
    """In a result of more than 2³¹ elements, as far as memory allows one, the entries of the batch are what they are in a small
    one: the first, those on both sides of that index, and the last."""
    call = ensure_batch(draw.call())
    if not call.value.size:
        return  # nothing to stack
    stacked = _Stacked(operation, call)
    if not stacked.largest:
        return
    copies = INT32 // stacked.largest + 2
    elements = sum(call.named[name].size for name in stacked_arguments(call)) + RESULTS_HELD * call.value.size
    _require_memory(copies * elements, operation.storage.bytes, "more than 2^31 elements take")
    results = stacked.run(copies)
    for copy in (0, INT32 // stacked.largest, copies - 1):
        stacked.assert_copy(results, copy, copies)


@invariant("B", cost=32, max_examples=1, dtypes=("float32",), needs=(*BATCHED, "about:not short"))
def test_many_entries(operation: Operation, draw: Draw) -> None:
    """In a batch of more than 65 536 small entries, each has the result that it has in a small batch. Code fails here if a
    counter ends at 2¹⁵ or 2¹⁶, or if a grid of blocks has a limit.
    """
    drawn = (ensure_batch(draw.call(small=True)) for _ in range(MANY_ENTRIES_TRIES))
    call = next((call for call in drawn if call.value.size and _count_stacked(call) <= MAX_MANY_ELEMENTS), None)
    if call is None:
        return
    copies = _count_copies(call)
    stacked = _Stacked(operation, call)
    with add_fact("batch", f"of {MANY_ENTRIES} entries or more; if it only is slow, give it a larger --time-limit"):
        results = stacked.run(copies)
    for copy in stacked.differing_copies(results, copies):
        stacked.assert_copy(results, copy, copies)


def _count_copies(call: Call) -> int:
    """Return how many copies of a call's batch have MANY_ENTRIES entries together."""
    return MANY_ENTRIES // len(np.empty(batch_shape(call))) + 1


def _count_stacked(call: Call) -> int:
    """Return how many elements the arguments and the results of that many copies have."""
    return _count_copies(call) * (sum(call.named[name].size for name in stacked_arguments(call)) + call.value.size)


class _Stacked:
    """A call whose batch is repeated along its first axis, and those of its results that have this axis."""

    def __init__(self, operation: Operation, call: Call):
        self.operation, self.call = operation, call
        shapes = {part.name: part.shape for part in call.parts} if call.parts else {"": call.value.shape}
        self.shapes = {name: operation.result_order.exchange_places(name, shape) for name, shape in shapes.items()}
        batch = batch_shape(call)
        self.names = {n for n, shape in self.shapes.items() if not call.parts or _has_first_axis(call, n, shape, batch)}
        self.largest = max((math.prod(self.shapes[name]) for name in self.names), default=0)

    def run(self, copies: int) -> dict[str, Any]:
        """Return the results of the call with its batch repeated so often."""
        native = _stack_batch(self.call, copies)
        results = self.operation.by_name(self.operation.run(self.call, native))
        for name in self.names:
            found, shape = tuple(results[name].shape), (copies * self.shapes[name][0], *self.shapes[name][1:])
            carrier = self.operation.carrier(name, self.call.keywords)
            shape = carrier.shape(shape) if carrier else shape
            assert_true(found == shape, f"{name or 'the result'} has shape {found}", expected=shape)
        return results

    def differing_copies(self, results: dict[str, Any], copies: int) -> list[int]:
        """Return the first and the last copy and, for each element, the copy in which it is farthest from the first."""
        found = {0, copies - 1}
        for name in self.names:
            values = self.operation.backend.framework.numpy(results[name]).reshape(copies, -1).astype(float)
            with np.errstate(all="ignore"):
                away = np.where(values == values[0], 0.0, np.abs(values - values[0]))
            away = np.where(np.isnan(away), np.where(np.isnan(values) & np.isnan(values[0]), 0.0, np.inf), away)
            found |= {int(np.argmax(away[:, i])) for i in np.flatnonzero(np.any(away > 0, axis=0))}
        return sorted(found)

    def assert_copy(self, results: dict[str, Any], copy: int, copies: int) -> None:
        """Compare one copy of the batch in the results with the equation."""
        call, shapes = self.call, self.shapes
        call.result, call.given = None, replace(call.given, copy=copy)
        rows = {name: slice(copy * shapes[name][0], (copy + 1) * shapes[name][0]) for name in self.names}
        with add_fact("stacked", f"{copies} times along the first axis; the rows from {rows[max(rows)].start} on"):
            part = {name: x[rows[name]] if name in self.names else x for name, x in results.items()}
            assert_conforms(Result(self.operation.values(call, part if call.parts else part[""]), call))


def _has_first_axis(call: Call, name: str, shape: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    """Whether one of several results has the first axis of the batch. It may lack axes, or have one of size 1."""
    ranks = result_ranks(call.operation.spec)
    if name not in ranks and has_named_batch(call.operation.spec):
        return shape[:1] == batch[:1]
    return len(shape) - ranks.get(name, 0) == len(batch) and shape[0] == batch[0]


def _require_memory(elements: int, width: int, what: str) -> None:
    """Skip the law if arrays of that many elements, each of `width` bytes, exceed the memory budget."""
    needed, budget = elements * width / GIGABYTE, current_settings().memory_budget_gb
    if needed > budget:
        raise NotImplementedVariant(f"{what} about {needed:.1f} GB, and --memory-budget is {budget:g}", "suite")


def _stack_batch(call: Call, copies: int) -> Any:
    """Return the call's native arguments, those with a batch repeated `copies` times along its first axis, on their device."""
    try:
        return native_as_given(call, "contiguous", Given(copies=copies, stacked=stacked_arguments(call)))
    except CannotMakeArray as reason:
        raise NotImplementedVariant(str(reason), "framework") from reason
