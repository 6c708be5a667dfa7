"""A fact: one respect in which calls, or the elements of a result, are alike or differ, such as the size of a dimension.

A fact has a value in a call, or in each element. A condition is about one fact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

from ....calls.call import Call
from ...wish import Wish
from ..values import is_integer, join

Largest = Callable[[str], int]  # the largest size of a dimension that may be asked for; 0 if the name is that of no dimension


@dataclass(frozen=True, eq=False, repr=False)
class Fact:
    """A fact by its name. Facts are made by `of`, which makes each of them once: they are compared by identity."""

    name: str

    is_derived: ClassVar[bool] = False  # from sizes, options and values, which are said sooner
    is_counted: ClassVar[bool] = False  # or measured: it has no values of its own, which a condition could list
    is_of_batch: ClassVar[bool] = False  # whether a change of the batch changes it
    is_of_history: ClassVar[bool] = False  # whether it tells the place of a call among the calls before

    @classmethod
    @cache
    def of(cls, *fields: Any) -> Self:
        """Return the fact with these fields."""
        return cls(*fields)

    def __repr__(self) -> str:
        return repr(self.name)

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        """Return the words for a condition on this fact, such as "where d is odd"."""
        if kind in ("is", "is not") and len(values) == 1 and isinstance(values[0], bool):
            return self.say_flag(values[0] if kind == "is" else not values[0])
        return self.say_values(kind, values)

    def say_flag(self, holds: bool) -> str:
        """Return the words where the value of the fact is true or false."""
        return f"where {self.name} = {holds}"

    def say_values(self, kind: str, values: tuple[Any, ...]) -> str:
        """Return the words where the value of the fact is a number, a text, or one of several."""
        return say_number(self.name, kind, values)

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        """Return the wish with another value of this fact, None if the fact cannot be chosen.

        like: a call that is as the wish says.
        """
        return None

    def list_near(self, kind: str, values: Sequence[Any]) -> list[Any] | None:
        """Return values near where a condition on this fact begins to hold; None: those that are near in general."""
        return None

    def list_pool(self, values: Sequence[Any]) -> list[Any] | None:
        """Return values that this fact may have, for a condition with some values; None: those that are near in general."""
        return None


def say_number(name: str, kind: str, values: tuple[Any, ...]) -> str:
    """Return the words for a condition on what has this name."""
    if kind == "above":
        return f"from {name} = {values[0] + 1} on" if is_integer(values[0]) else f"where {name} exceeds {values[0]:.6g}"
    if kind == "below" and values[0] == 2 and is_integer(values[0]):
        return f"where {name} = 1"
    if kind == "below":
        return f"up to {name} = {values[0] - 1}" if is_integer(values[0]) else f"where {name} is below {values[0]:.6g}"
    if kind == "no multiple":
        return f"where {name} is odd" if values[0] == 2 else f"where {name} is no multiple of {values[0]}"
    if kind == "multiple":
        return f"where {name} is even" if values[0] == 2 else f"where {name} is a multiple of {values[0]}"
    if kind == "remainder":
        return f"where {name} is {values[1]} more than a multiple of {values[0]}"
    if kind == "power of two":
        return f"where {name} is a power of two"
    if kind == "no power of two":
        return f"where {name} is no power of two"
    if values == (None,):
        return f"where {name} is {'not ' if kind == 'is' else ''}given"
    return f"where {name} {'=' if kind == 'is' else 'is not'} {join(values)}"


@dataclass(frozen=True, eq=False, repr=False)
class Flag(Fact):
    """A fact that is true or false, with the words for both."""

    where_true: str
    where_false: str

    def say_flag(self, holds: bool) -> str:
        return self.where_true if holds else self.where_false


@dataclass(frozen=True, eq=False, repr=False)
class Amount(Fact):
    """How many of something there are: what has them, and the word for one and for several."""

    owner: str
    one: str
    several: str

    def say_values(self, kind: str, values: tuple[Any, ...]) -> str:
        return say_amount(self.owner, self.one, self.several, kind, values)


def say_amount(owner: str, one: str, several: str, kind: str, values: tuple[Any, ...]) -> str:
    """Return the words for how many of something its owner has, such as "where the mask has 2 rows or more"."""
    value = values[0] if values else 0
    if (kind == "below" and value == 1) or (kind == "is" and values == (0,)):
        return f"where {owner} has no {one}"
    if kind == "above" and value == 0:
        return f"where {owner} has {'an' if one[0] in 'aei' else 'a'} {one}"
    amounts = {
        "above": f"{value + 1} {several} or more" if values else "",
        "below": f"one {one} at most" if value == 2 else f"fewer than {value} {several}",
        "is": f"{join(['one' if v == 1 else v for v in values])} {one if values == (1,) else several}",
        "is not": f"not {join(values)} {several}",
        "no multiple": f"an odd number of {several}" if value == 2 else f"a number of {several} that is no multiple of {value}",
        "multiple": f"an even number of {several}" if value == 2 else f"a number of {several} that is a multiple of {value}",
        "remainder": f"a number of {several} that is {values[-1] if values else 0} more than a multiple of {value}",
        "power of two": f"a number of {several} that is a power of two",
        "no power of two": f"a number of {several} that is no power of two",
    }
    return f"where {owner} has {amounts[kind]}"
