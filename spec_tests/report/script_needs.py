"""What a call needs to fail again, beside its values. It is found by making the call again: alone, and as the run made it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.given import PLAIN, Given
from ..calls.history import list_first, list_lost
from ..calls.operation import Operation
from ..calls.violation import Violation
from ..helpers.storage import native_as_given
from ..implementation.framework import Framework
from ..specification.pytree import leaves
from ..trials.trial import Trial

MAX_CALLS_BEFORE = 1000  # in a script
MAX_REPEATED = 4  # earlier calls, to see whether they are wrong by now
MANY_THREADS = 8  # which are more than one on every machine
NAN_ARRAYS = 16  # of which every second one is freed before a call: memory that it takes and never writes then holds NaN


@dataclass(frozen=True)
class Need:
    """A call that fails again, and what it needs for that."""

    call: Call
    layout: str = "contiguous"  # of its arguments
    given: Given = PLAIN  # in which other way
    dirty_memory: bool = False  # free memory that holds NaN
    changed: tuple[str, ...] = ()  # the arguments that hold other values after the call, though its answer is right

    @property
    def words(self) -> str:
        """What the call needs, in words; "" if it fails alone."""
        given = self.given
        which = f" ({given.which})" * (given.which != "all")
        parts = [f"with {self.layout} arguments{which}"] * (self.layout != "contiguous")
        parts += [f"with one array as {' and as '.join(given.one_array)}"] * bool(given.one_array)
        parts += [f"with its batch repeated {given.copies} times"] * (given.copies > 1)
        parts += ["where free memory holds NaN, since it does not write each element"] * self.dirty_memory
        if self.changed:
            return ", ".join([f"the answer is right, but the call changes {' and '.join(self.changed)}", *parts])
        return f"alone it is right; it is wrong {', '.join(parts)}" if parts else ""

    @property
    def rows(self) -> slice:
        """The rows of a result in which the copy of the batch lies that was compared."""
        length = self.call.value.shape[0] if self.call.value.ndim else 1
        return slice(self.given.copy * length, (self.given.copy + 1) * length)


def find_need(calls: Sequence[Call]) -> Need | None:
    """Return the last call that fails again, with the least that it needs; None if none fails.

    A call that was lost is not made again, because that would cost as much again: it is shown as it was made.
    """
    for call in reversed(calls):
        if call in list_lost(call.operation.backend):
            return Need(call, call.layout, call.given)
    made = [(call, call.layout, call.given) for call in reversed(calls)]  # to make a call again changes how it says it was given
    plain = [Need(call) for call, _, _ in made]
    as_given = [Need(call, layout, given) for call, layout, given in made if (layout, given) != ("contiguous", PLAIN)]
    dirty = [Need(call, dirty_memory=True) for call, _, _ in made if not call.operation.backend.framework.passes_copies]
    # A call that fails once alone got the answer of another one.
    if need := next((need for need in (*plain, *as_given, *dirty) if _fails(need) and _fails(need)), None):
        return need
    for call, layout, given in made:
        for way in dict.fromkeys([("contiguous", PLAIN), (layout, given)]):
            if changed := _find_changed_arguments(call, *way):
                return Need(call, *way, changed=changed)
    return None


def are_wrong_when_held(calls: Sequence[Call]) -> bool:
    """Whether an answer that is right when it is read at once is wrong when it is read after all calls were made."""
    try:
        made = [Call(call.operation, call.arguments, call.keywords) for call in calls]
        held = [_operation_of(call).run(call) for call in made]
        return any(not accepts(call, result) for call, result in zip(made, held, strict=True))
    except Violation:  # of a call that raises among others, though it does not alone
        return True
    except Exception:
        return False


def find_earlier_call(trial: Trial, wrong: Call) -> Call | None:
    """Return an earlier call of the run to which the wrong answer is the right one, None if there is none.

    Code that keeps results gives such answers. In a fresh process the wrong call alone would then be right.
    """
    if wrong.observed is None or wrong.observed.size == 0:
        return None
    if np.all(wrong.expectation(wrong.operation.precision).accepts(wrong.observed)):  # its values are right: it has another dtype
        return None
    name, shape = wrong.operation.name, wrong.observed.shape
    first = [trial.backend.first_calls.get((name, trial.dtype, shape)), wrong.previous, *list_first(wrong)]
    for call in [call for call in first if call is not None] + trial.backend.recorded_calls.get((name, trial.dtype), []):
        if call is wrong or call.observed is None or call.observed.shape != shape:
            continue
        expectation = call.expectation(call.operation.precision)
        if np.all(expectation.accepts(wrong.observed)) and np.all(np.isfinite(expectation.radius)):
            return call
    return None


def count_calls_before(need: Need) -> int:
    """Return how many calls were made before, if one that was right is wrong by now; 0 if no earlier call decides.

    In a fresh process the call alone would be right. How many of the calls it takes is not known: so many are enough.
    """
    operation = need.call.operation
    if need.words or operation.spec.is_gradient:
        return 0
    right = [call for call in list_first(need.call) if call.operation.dtype == operation.dtype and _was_right(call)]
    if not any(_is_wrong_now(call) for call in right[:MAX_REPEATED]) and not _changes(need.call):
        return 0
    return min(operation.backend.call_counts[operation.name], MAX_CALLS_BEFORE)


def find_wider_call(trial: Trial, wrong: Call) -> Call | None:
    """Return the widest of the calls that are known to have come before, if one was wider than the wrong call."""
    earlier = [*list_first(wrong), *trial.backend.recorded_calls.get((wrong.operation.name, wrong.operation.dtype), [])]
    found = [call for call in earlier if call.operation.dtype == wrong.operation.dtype and _width_of(call) > _width_of(wrong)]
    return max(found, key=_width_of, default=None)


def _width_of(call: Call) -> int:
    """Return the longest last axis of the arguments and of the result."""
    arrays = [*(x for _, x in leaves(call.arguments) if isinstance(x, np.ndarray)), call.value]
    return max((x.shape[-1] for x in arrays if x.ndim), default=0)


def _is_wrong_now(call: Call) -> bool:
    """Whether the values of the call's answer are wrong if it is made again."""
    again = _answer(call)
    return again is not None and not _was_right(again)


def _changes(call: Call) -> bool:
    """Whether the call has another answer each time that it is made."""
    first, second = _answer(call), _answer(call)
    if first is None or second is None or first.observed is None or second.observed is None:
        return False
    return not np.array_equal(first.observed, second.observed, equal_nan=True)


def _answer(call: Call) -> Call | None:
    """Return the call, made again, None if it has no answer."""
    again = Call(call.operation, call.arguments, call.keywords)
    try:
        _operation_of(call).values(again, _operation_of(call).run(again))
    except Exception:
        return None
    return again


def _was_right(call: Call) -> bool:
    return call.observed is not None and bool(np.all(call.expectation(call.operation.precision).accepts(call.observed)))


def _fails(need: Need) -> bool:
    """Whether the call fails if it is made so. A call without a result that can be read fails."""
    call = Call(need.call.operation, need.call.arguments, need.call.keywords)
    try:
        native = native_as_given(call, need.layout, need.given)
        kept = _free_nan_arrays(call) if need.dirty_memory else []  # until the call is made, so that no free memory is joined
        result = _operation_of(call).run(call, native)
        kept.clear()
        return not accepts(call, _take_rows(need, result) if need.given.copies > 1 else result)
    except Violation:
        return True
    except Exception:  # such as arrays that the framework does not make: it shows nothing of what the call needs
        return not need.words


def write_import_of_torch(need: Need | None) -> str:
    """Return the line that imports PyTorch, and the one that sets its threads if the call is right with another number.

    A run with several workers gives each of them a share of the threads, which a script has not.
    """
    threads = _find_threads(need) if need else 0
    setting = f"torch.set_num_threads({threads})  # with another number of threads the call is right"
    return "\n".join(["import torch", *[setting] * bool(threads)])


def _find_threads(need: Need) -> int:
    """Return the number of threads if the call is right with another one, 0 if the threads decide nothing."""
    backend = need.call.operation.backend
    module = backend.framework.module if isinstance(backend.framework, Framework) else None  # else it is in another process
    if not hasattr(module, "set_num_threads") or need.changed or need.call in list_lost(backend) or not _fails(need):
        return 0
    assert module is not None
    now = module.get_num_threads()
    try:
        for other in sorted({1, os.cpu_count() or 1, MANY_THREADS} - {now}):
            module.set_num_threads(other)
            if not _fails(need):
                return int(now)
    finally:
        module.set_num_threads(now)
    return 0


def _operation_of(call: Call) -> Operation:
    """Return the operation of a call, which can run it."""
    assert isinstance(call.operation, Operation)
    return call.operation


def accepts(call: Call, result: Any) -> bool:
    """Whether a result is right, and of a dtype that it may have."""
    operation, framework = _operation_of(call), call.operation.backend.framework
    values = operation.values(call, result)
    if not operation.spec.is_gradient:
        arrays = operation.arrays_by_name(result)
        if any(framework.dtype_of(x) not in operation.expected_dtypes(name, call.keywords) for name, x in arrays.items()):
            return False
    return bool(np.all(call.expectation(operation.precision).accepts(values)))


def _free_nan_arrays(call: Call) -> list[Any]:
    """Fill arrays of the shape of the result with NaN, free every second one, and return the others."""
    framework, shape = call.operation.backend.framework, call.value.shape
    arrays = [framework.native(np.full(shape, np.nan), call.operation.dtype) for _ in range(NAN_ARRAYS)]
    del arrays[::2]
    return arrays


def _take_rows(need: Need, result: Any) -> Any:
    """Return the results without the copies of the batch that are not compared."""
    call = need.call
    if call.parts is None:
        return result[need.rows]
    found = {}
    for part in call.parts:
        x = call.operation.by_name(result)[part.name]
        length = part.shape[0] if part.shape else 1
        copy = need.given.copy
        is_whole = tuple(x.shape) == call.operation.result_order.exchange_places(part.name, part.shape)
        found[part.name] = x if is_whole else x[copy * length : (copy + 1) * length]
    return found


def _find_changed_arguments(call: Call, layout: str, given: Given) -> tuple[str, ...]:
    """Return the paths of the arguments that hold other values after the call than before."""
    operation, again = _operation_of(call), Call(call.operation, call.arguments, call.keywords)
    try:
        native = native_as_given(again, layout, given)
        before = {path: operation.backend.framework.numpy(x) for path, x in list_native(call, native)}
        operation.run(again, native)
        after = {path: operation.backend.framework.numpy(x) for path, x in list_native(call, native)}
    except Exception:
        return ()
    updated = operation.spec.declaration.updates
    changed = (path for path, x in before.items() if not _is_same(x, after.get(path)))
    return tuple(path for path in changed if path.partition("[")[0] not in updated)


def _is_same(before: np.ndarray, after: np.ndarray | None) -> bool:
    """Whether an argument holds the values that it held, in an array of the same dtype. A dict may have lost it."""
    return after is not None and np.array_equal(before, after, equal_nan=before.dtype.kind == "f")


def list_native(call: Call, native: tuple[tuple[Any, ...], dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the path and the array of each native argument that is one."""
    named = {**dict(zip(call.operation.spec.positional, native[0], strict=False)), **native[1]}
    paths = (pair for name, argument in named.items() for pair in leaves(argument, name))
    return ((path, x) for path, x in paths if call.operation.backend.framework.is_array(x))
