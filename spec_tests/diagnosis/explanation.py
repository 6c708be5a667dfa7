"""What a search for the cause of wrong answers returns: a sentence, and a prediction of every answer that it speaks of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..calls.call import Call

IF_MEANT = "if meant"  # the label of a line that states as a choice what else is a bug


@dataclass(frozen=True)
class Explanation:
    """One explanation of the wrong answers of an operation.

    An explanation is said only if it predicts every wrong answer that was seen in the dtypes that it speaks of, and no right
    answer against it.
    """

    kind: str  # "deviation" (of the catalogue), "near miss", "equation" (found by search) or "region" (where answers are wrong)
    id: str  # the same in every run: a deviation's id, or a short text that names the equation or the region
    what: str  # the sentence that a message prints
    operation: str  # the operation to mend: the one that failed, or a part of it
    predicts: Callable[[Call], bool | None]
    """Whether the answer of a call is the one that this explanation says; None if it says nothing about the call.

    An equation says every answer. A region says that an answer inside is wrong and that one outside is right.
    """
    facts: tuple[tuple[str, str], ...] = ()  # further lines of the message, as (label, text)
    is_far: bool = False  # whether another explanation may say the bug in plainer words
    equation_of: Callable[[str], Callable[..., Any] | None] = lambda operation: None
    """The equation that an operation has according to this explanation, with the reference's arguments; None if there is none."""
