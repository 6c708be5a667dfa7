"""Which explanation stays where several fit, and which cause where a later one explains an earlier one as well."""

from __future__ import annotations

from collections.abc import Iterable

from ..calls.call import Call
from ..diagnosis.evidence import is_wrong
from ..diagnosis.explanation import Explanation
from ..specification.formats import FLOAT64_IN_FLOAT32
from .cause import Cause

SETTLING_CALLS = 16  # whose answers decide between explanations, or causes
SAYS_EVERY_ANSWER = ("deviation", "near miss", "equation")  # kinds of explanations; a region says only where answers are wrong


def find_superseded(
    explanations: list[Explanation], operation: str, found: Iterable[Cause], further: Iterable[Call]
) -> Cause | None:
    """Return the earlier cause in an operation that the explanation of a later failure explains as well, None if there is none.

    The first failing example of a bug may fit a narrower explanation than the bug itself. The later one has to explain the wrong
    answers of the earlier example, and all wrong answers to further calls. A bug of the catalogue has a name and keeps it.
    """
    if len(explanations) != 1 or explanations[0].kind not in SAYS_EVERY_ANSWER:
        return None
    earlier = [cause for cause in found if cause.operation == operation and cause.kind in ("near miss", "equation", "region")]
    earlier = [cause for cause in earlier if _explains_all(explanations[0], cause.example.origin or cause.example.wrong_calls)]
    if not earlier or not _explains_all(explanations[0], list(filter(is_wrong, further))):
        return None
    return earlier[0]


def _explains_all(explanation: Explanation, wrong: list[Call]) -> bool:
    """Whether an explanation says each of some wrong answers, of which there is at least one."""
    return bool(wrong) and all(explanation.predicts(call) for call in wrong)


def settle(explanations: list[Explanation], calls: Iterable[Call]) -> list[Explanation]:
    """Return the explanations that no answer to further calls contradicts, or all if there is none."""
    wrong = [call for call in calls if is_wrong(call)]
    kept = [found for found in explanations if not any(found.predicts(call) is False for call in wrong)]
    return kept or explanations


def identify(explanation: Explanation) -> str:
    """Return a text that names an explanation: the id of a deviation where it was made, else the operation and the id."""
    if explanation.id == FLOAT64_IN_FLOAT32:
        return explanation.id
    if explanation.kind == "deviation":
        return f"{explanation.operation}/{explanation.id.rpartition('/')[2]}"
    return f"{explanation.operation}: {explanation.id}"
