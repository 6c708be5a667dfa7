"""What a law does with a backend, in its order: it makes calls, and writes to the arrays of calls that it has made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..specification.pytree import leaves
from .given import Given

if TYPE_CHECKING:
    from .call import Call


@dataclass(eq=False)
class CallMade:
    """A call was made."""

    call: Call
    layout: str  # in which its arguments were stored
    given: Given  # in which other way
    state: str  # of the framework, "" for the usual one
    refilled: int | None = None  # the number of the call whose arrays were its arguments, written to


@dataclass(frozen=True)
class ResultWritten:
    """A number was written into an array of an earlier result."""

    number: int  # of the call, counted from 0
    path: str  # of the array in the result, "" if it is the result
    value: float


class Steps(list[CallMade | ResultWritten]):
    """The steps of one example so far."""

    refilled: int | None = None  # the number of the call whose arrays the next one gets
    is_whole = True  # whether each array that was written to is known

    @property
    def made(self) -> list[CallMade]:
        """Return the calls alone."""
        return [step for step in self if isinstance(step, CallMade)]

    def add_call(self, call: Call, state: str) -> CallMade:
        """Add a call that is about to be made. Its layout is that of the arguments which were made last."""
        self.append(step := CallMade(call, call.layout, call.given, state, self.refilled))
        self.refilled = None
        return step

    def add_refill(self, call: Call) -> None:
        """Be told that the arguments of the latest run of this call were written to, and are those of the next call."""
        numbers = [number for number, step in enumerate(self.made) if step.call is call]
        self.refilled = numbers[-1] if numbers else None
        self.is_whole &= bool(numbers)

    def add_written(self, call: Call, result: Any, x: Any, value: float) -> None:
        """Be told that a number was written into the array x of the result that the first run of this call returned."""
        numbers = [number for number, step in enumerate(self.made) if step.call is call]
        paths = [path for path, y in leaves(result) if y is x]
        self.is_whole &= bool(numbers and paths)
        self.extend(ResultWritten(number, path, value) for number, path in zip(numbers[:1], paths[:1], strict=False))

    def copy(self) -> Steps:
        """Return the steps for later, none if they are not whole."""
        return Steps(self if self.is_whole else ())

    def clear(self) -> None:
        super().clear()
        self.refilled, self.is_whole = None, True
