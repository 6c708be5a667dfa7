"""The position of a call among the calls of its operation: a backend that keeps state may be wrong from the second call on.

It also has the calls that were lost. What comes after them is not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from ..bounds.bounded import Bounded
from ..implementation.backend import Backend
from ..implementation.guard import Fault
from ..specification.pytree import leaves
from .call import Call
from .violation import Lost, from_fault

Key = tuple[Any, ...]
MAX_FIRST_CALLS, MAX_FIRST_ELEMENTS = 256, 1024  # of calls that are kept, and of their arguments
MAX_SHAPES = 4  # of arrays that a sentence names
P = ParamSpec("P")
Answer = TypeVar("Answer")
Owner = TypeVar("Owner")


@dataclass
class History:
    """The calls of one operation of a backend so far. Of most, nothing but the shapes and dtypes of their arguments is kept."""

    calls: int = 0
    seen: Counter[Key] = field(default_factory=Counter)  # how often a call had such shapes, such a result, such an argument
    last: Key = ()  # the shapes of the call before
    last_result: Key = ()
    widest: int = 0  # the size of the last axis of the first array
    first: dict[Key, Call] = field(default_factory=dict)  # small calls that were the first with such a result
    latest: dict[Key, Call] = field(default_factory=dict)  # and those that were the last one
    lost: dict[Call, Lost] = field(default_factory=dict)  # the calls that timed out, ended their process or lost their device

    def add(self, call: Call) -> dict[str, Any]:
        """Count a call that is about to be made, and return the facts of its position."""
        dtype = call.operation.dtype
        arrays = dict(_find_shapes(call.named))
        sizes = tuple((name, x) for name, x in call.keywords.items() if isinstance(x, int) and not isinstance(x, bool))
        width = next((shape[-1] for shape in arrays.values() if shape), 0)
        shapes = ("shapes", dtype, *arrays.items(), *sizes)
        facts: dict[str, Any] = {
            "calls before": self.calls,
            "calls before with these shapes": self.seen[shapes],
            "the call before had these shapes": shapes == self.last,
            "a wider call came before": width < self.widest,
        }
        arguments = [(name, dtype, shape) for name, shape in arrays.items()] if len(arrays) > 1 else []
        for key in arguments:
            facts[f"calls before with {key[0]} of this shape"] = self.seen[key]
        self.calls += 1
        for counted in (shapes, *arguments):
            self.seen[counted] += 1
        self.last, self.widest = shapes, max(self.widest, width)
        return facts

    def add_result(self, call: Call) -> dict[str, Any]:
        """Count the result of a call, and return the facts of its position."""
        result = ("result", call.operation.dtype, _shape_of(call.result))
        facts = {
            "calls before with a result of this shape": self.seen[result],
            "the call before had a result of this shape": result == self.last_result,
        }
        if call.size <= MAX_FIRST_ELEMENTS:
            if not self.seen[result] and len(self.first) < MAX_FIRST_CALLS:
                self.first[result] = call
            before = self.latest.get(result)
            call.previous = before if before is not call else call.previous
            if before is not None and before.previous is not None:
                before.previous.previous = None  # so that no more calls are kept
            if result in self.latest or len(self.latest) < MAX_FIRST_CALLS:
                self.latest[result] = call
        self.seen[result] += 1
        self.last_result = result
        return facts


def _find_shapes(named: dict[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name and the shape of each array among the arguments."""
    for name, value in named.items():
        if isinstance(value, np.ndarray | Bounded):
            yield name, value.shape
        elif isinstance(value, dict | list | tuple):
            yield from ((name + path, x.shape) for path, x in leaves(value) if isinstance(x, np.ndarray | Bounded))


def _shape_of(result: Any) -> tuple[int, ...]:
    """Return the shape of what a backend returned, () if it has none."""
    try:
        return tuple(map(int, result.shape))
    except Exception:  # another object than an array, whatever it does
        return ()


def note_call(call: Call) -> None:
    """Count a call that is about to be made. The facts of its last run are kept in the call."""
    call.history = _history_of(call).add(call)


def note_result(call: Call) -> None:
    """Count the result of a call that was made."""
    call.history |= _history_of(call).add_result(call)


def list_first(call: Call) -> list[Call]:
    """Return the first calls of the run with a result of each shape, as far as they are kept: that of this call's shape first."""
    first = _history_of(call).first
    own = first.get(("result", call.operation.dtype, tuple(call.value.shape)))
    return [*([own] if own else []), *(found for found in first.values() if found is not own)]


def notes_losses(method: Callable[Concatenate[Owner, Call, P], Answer]) -> Callable[Concatenate[Owner, Call, P], Answer]:
    """Return a method of an operation that makes, runs or reads a call. It notes a call that is lost meanwhile.

    A Fault that is raised where the suite itself makes or reads an array becomes a violation.
    """

    @wraps(method)
    def noting(operation: Owner, call: Call, /, *arguments: P.args, **keywords: P.kwargs) -> Answer:
        try:
            return method(operation, call, *arguments, **keywords)
        except Fault as fault:
            violation = from_fault(fault)
            if isinstance(violation, Lost):
                note_loss(call, violation)
            raise violation from fault
        except Lost as loss:
            note_loss(call, loss)
            raise

    return noting


def note_loss(call: Call, loss: Lost) -> None:
    """Note a call that was lost."""
    _history_of(call).lost[call] = loss


def list_lost(backend: Backend) -> dict[Call, Lost]:
    """Return the calls of a backend that were lost so far, in the order in which they were, for each operation."""
    return {call: loss for history in backend.call_histories.values() for call, loss in history.lost.items()}


def count_lost_devices(backend: Backend, operation: str) -> int:
    """Return how many calls of an operation have cost the device so far."""
    history: History | None = backend.call_histories.get(operation)
    return sum(loss.device_lost for loss in history.lost.values()) if history else 0


def describe_shapes(call: Call) -> str:
    """Return the shapes of the arrays of a call, as "x of shape (4, 8)"."""
    shapes = dict(_find_shapes(call.named))
    shown = [f"{name} of shape {shape}" for name, shape in list(shapes.items())[:MAX_SHAPES]]
    return " and ".join(shown) + ", …" * (len(shapes) > MAX_SHAPES) if shown else "no array"


def _history_of(call: Call) -> History:
    history: History = call.operation.backend.call_histories.setdefault(call.operation.name, History())
    return history
