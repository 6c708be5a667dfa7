"""What a report says of a cause: its ids and its explanations in lists, and the sentence that is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..implementation.printable import printable
from .verdict import StatedCause, StatedExplanation, join_explanations

if TYPE_CHECKING:
    from ..trials.cause import Cause


def state_explanations(cause: Cause) -> tuple[StatedExplanation, ...]:
    """Return the explanations of a cause, () if nothing explains it."""
    return tuple(StatedExplanation(id=found.id, what=found.what, kind=found.kind) for found in cause.explanations)


def state_cause(cause: Cause, failing: int) -> StatedCause:
    """Return what a verdict says of a cause that made so many of its examples fail."""
    explanations = state_explanations(cause)
    return StatedCause(
        key=printable(" or ".join(cause.ids)),
        ids=tuple(map(printable, cause.ids)),
        kind=cause.kind,
        operation=cause.operation,
        what=printable(join_explanations(explanations) or cause.symptom),
        explanations=tuple(
            StatedExplanation(id=printable(found.id), what=printable(found.what), kind=found.kind) for found in explanations
        ),
        wrong=cause.wrong,
        right=cause.right,
        ended_after=cause.ended_after,
        failing=failing,
    )
