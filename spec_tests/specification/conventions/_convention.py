"""What a convention is: a question that no equation settles, and the known answers to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Equation = Callable[..., Any]


@dataclass(frozen=True)
class Value:
    """One known answer to the question of a convention."""

    words: str
    change: Callable[[Equation], Equation]  # from the equation to the one that holds under this value
    is_deliberate: bool = True  # False: rounding may also bring it about, so that it may hold of some answers only
    elsewhere: dict[str, Callable[[Equation], Equation]] = field(default_factory=dict)  # by operation, where it is another change
    computes_in: str = ""  # the dtype in which a part of the equation is computed, whatever the arguments have; "": in theirs
    returned_by: tuple[str, ...] = ()  # the operations whose results have this dtype


@dataclass(frozen=True)
class Convention:
    """A choice on which implementations legitimately differ. The first value is the one that is assumed if nothing is known."""

    name: str
    question: str  # what it decides, as it follows "decides"
    operations: tuple[str, ...]
    values: dict[str, Value]
    is_asked: Callable[[dict[str, Any], dict[str, str]], bool]  # by the arguments, given the values of earlier conventions
    is_closed: bool  # whether an answer that fits no known value is wrong; otherwise it is reported as unknown
    decides_every_call: bool = False  # and every gradient; its value is settled before that of any other
    dtypes: tuple[str, ...] = ()  # in which it decides anything; () for all
    in_pytorch: str = ""  # the value that PyTorch's own functions have, "" if it has none
    is_allowed: bool = False  # whether the equation itself allows every value, so that only a statement makes it stricter
