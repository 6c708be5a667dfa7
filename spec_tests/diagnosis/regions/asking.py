"""What a diagnosis may ask of a backend: a further call with chosen facts, and what became of it.

`trials/asker.py` draws and answers such calls; it is handed down, since it knows how an operation's arguments are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ...calls.call import Call
from ..wish import Wish
from .facts.fact import Fact
from .facts.of_calls import describe_for_region
from .facts.of_elements import ElementFact, describe_elements

WRONG = "wrong"  # the failure of an answer with elements outside the error bound

RIGHT = ""


@dataclass(eq=False)
class Answer:
    """A call and what became of it."""

    call: Call
    failure: str  # RIGHT, WRONG, or what was seen in place of an answer, such as "raises ValueError"
    wrong: np.ndarray | None = None  # which elements are wrong; None where there are no values
    open: np.ndarray | None = None  # which elements may hold anything, since no bound is claimed of them; None if none may
    ordinary: bool = False  # whether the values are ordinary, so that they hide no error
    shown: set[int] = field(default_factory=set)  # elements that contradicted a region, by their place in the flat result

    def tells(self, elements: np.ndarray) -> np.ndarray:
        """Return which of some elements could have been found wrong: those of which a bound is claimed."""
        return elements if self.open is None or self.open.size != elements.size else elements & ~self.open

    @cached_property
    def facts(self) -> dict[Fact, Any]:
        return describe_for_region(self.call)

    @cached_property
    def texts(self) -> dict[Fact, str]:
        """Return the facts as text, by which they are compared."""
        return {fact: repr(value) for fact, value in self.facts.items()}

    @cached_property
    def elements(self) -> dict[ElementFact, np.ndarray]:
        """Return the facts of the elements of the result, each as a flat array."""
        return describe_elements(self.call)

    def of_element(self, fact: Fact) -> np.ndarray | None:
        """Return a fact of the elements, None if they lack it."""
        return self.elements.get(fact) if isinstance(fact, ElementFact) else None


class Ask(Protocol):
    """Draw a call with the facts that are wished for, and answer it. Return None if there is no such call."""

    def __call__(self, wish: Wish) -> Answer | None: ...

    @property
    def last(self) -> Call | None:
        """Return the last call that was made, None if none was."""
        ...

    def judge(self, call: Call) -> Answer:
        """Return the answer of a call that has been made."""
        ...

    def largest(self, dimension: str) -> int:
        """Return the largest size of a dimension that laws draw, and that is asked for; 0 if it is no dimension."""
        ...
