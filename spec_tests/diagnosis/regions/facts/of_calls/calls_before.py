"""The place of a call among the calls of its operation: code that keeps something may be wrong from the second call on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from .....calls.call import Call
from ...values import is_integer, join
from ..fact import Fact, Flag

ORDER = 16

ORDINALS = ("", "first", "second", "third", "fourth")


class CallsBefore(Fact):
    """How many calls came before, all of them or those with a shape of this call."""

    is_derived = is_counted = is_of_history = True

    def say_values(self, kind: str, values: tuple[Any, ...]) -> str:
        of = self._of
        if kind == "above":
            return f"from the {_ordinal(values[0] + 2)} call{of} on"
        if (kind, values) in (("below", (1,)), ("is", (0,))):
            return f"in the first call{of}"
        if kind == "below":
            return f"in the first {values[0]} calls{of}"
        if kind == "remainder" or (kind == "no multiple" and values[0] == 2):
            return f"in every {_ordinal(values[0])} call{of}"
        if kind == "no multiple":
            return f"in calls{of} but each {values[0]}th"
        return f"in call {join([value + 1 for value in values if is_integer(value)])}{of}"

    @property
    def _of(self) -> str:
        """Which calls are counted, as text that follows "calls"."""
        of = self.name.removeprefix("calls before").replace(" with these shapes", " with the same shapes")
        of = of.replace(" with a result of this shape", " with a result of the same shape")
        if of.endswith(" of this shape"):
            return of.replace(" with ", " with the same shape of ", 1).removesuffix(" of this shape")
        return of


class CallBefore(Flag):
    """What is known of the call before, or of all calls before."""

    is_derived = is_of_history = True


FLAGS: Mapping[str, Fact] = MappingProxyType(
    {
        fact.name: fact
        for fact in (
            CallBefore.of(
                "the call before had these shapes",
                "where the call before had the same shapes",
                "where the call before had other shapes",
            ),
            CallBefore.of(
                "the call before had a result of this shape",
                "where the call before had a result of the same shape",
                "where the call before had a result of another shape",
            ),
            CallBefore.of(
                "a wider call came before", "after a call with longer rows", "where no call with longer rows came before"
            ),
        )
    }
)


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the facts that the history of the operation has noted."""
    for name, value in call.history.items():
        yield FLAGS.get(name) or CallsBefore.of(name), value


def _ordinal(number: int) -> str:
    return ORDINALS[number] if number < len(ORDINALS) else f"{number}th"
