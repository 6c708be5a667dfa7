"""The causes of failures in a list of verdicts: each with its verdicts, in the order in which to mend them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..specification.formats import RESULT_DTYPES
from ..specification.registry import gradients, operations
from ..specification.tiers import TIERS
from ..trials.mending import mending_order
from .verdict import ForeignMessage, Message, RecordedVerdict, StatedCause, StatedExplanation, Verdict


@dataclass
class Bug:
    """One cause of failures, with the verdicts that failed from it."""

    cause: StatedCause  # as the verdict has it that leaves the fewest explanations open
    verdicts: list[Verdict] = field(default_factory=list)
    wrong: int = 0  # wrong answers that the explanation was tested on
    right: int = 0
    failing: int = 0  # examples

    @property
    def operation(self) -> str:
        """The operation to mend."""
        return self.cause.operation

    @property
    def what(self) -> str:
        """The cause in one sentence."""
        return self.cause.what

    @property
    def candidates(self) -> tuple[StatedExplanation, ...]:
        """The explanations that are equally good, () if there is none."""
        return self.cause.candidates

    @property
    def tier(self) -> str:
        """The first tier of a contract that asks for one of the laws that it breaks."""
        return min((v.tier for v in self.verdicts), key=list(TIERS).index)

    @property
    def operations(self) -> list[str]:
        """The operations that fail from it, in the order of their verdicts."""
        return list(dict.fromkeys(v.operation for v in self.verdicts))

    @property
    def laws(self) -> list[str]:
        """The names of the laws that it breaks, with the operation if there are several."""
        several = len({v.subject for v in self.verdicts}) > 1
        return list(dict.fromkeys(v.id if several else v.law for v in self.verdicts))

    @property
    def dtypes(self) -> list[str]:
        return [dtype for dtype in RESULT_DTYPES if any(v.dtype == dtype for v in self.verdicts)]

    @property
    def confidence(self) -> str:
        """What the explanation was tested on, "" if there is none."""
        return f"all {self.wrong} wrong and {self.right} right answers" if self.candidates else ""

    def find_clearest_failure(self) -> tuple[Verdict, Message | ForeignMessage | None]:
        """Return the verdict that is quickest to understand, with its message about this cause, None if the report has none.

        It is one that was shrunk, that an explanation is known of, and that has the shortest inputs.
        """

        def rank(found: tuple[Verdict, Message | ForeignMessage | None]) -> tuple[bool, bool, bool, int]:
            message = found[1] if isinstance(found[1], Message) else None
            inputs = message.inputs if message else ""
            return bool(message and message.first), not (message and message.diagnosis), not inputs, len(inputs)

        return min(((verdict, self._find_message(verdict)) for verdict in self.verdicts), key=rank)

    def _find_message(self, verdict: Verdict) -> Message | ForeignMessage | None:
        """Return the message about this cause, of a verdict that may have failed from several."""
        if not isinstance(verdict, RecordedVerdict):
            return None
        messages = [verdict.failure, *verdict.other_failures]
        index = next((i for i, cause in enumerate(verdict.causes) if cause.is_same(self.cause)), 0)
        return messages[index] if index < len(messages) else None


def list_errors(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts that failed by no fault of the backend: an exception inside the suite, or of another plugin.

    Every failure of a backend has a cause.
    """
    return [v for v in verdicts if v.status == "failed" and not v.causes]


def list_failures(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts that failed because of the backend."""
    return [v for v in verdicts if v.status == "failed" and v.causes]


def group_bugs(verdicts: Sequence[Verdict]) -> list[Bug]:
    """Return the causes of the failures, those to mend first at the front. A verdict that failed from several is in each."""
    found: list[Bug] = []
    for v in list_failures(verdicts):
        for cause in v.causes:
            bug = next((bug for bug in found if bug.cause.is_same(cause)), None)
            if bug is None:
                found.append(bug := Bug(cause))
            elif _says_more(cause, bug.cause):
                bug.cause = cause
            bug.verdicts.append(v)
            bug.wrong, bug.right = max((bug.wrong, bug.right), (cause.wrong, cause.right))
            bug.failing += cause.failing
    return sorted(found, key=_mending_order)


def _says_more(cause: StatedCause, other: StatedCause) -> bool:
    """Whether a cause is explained where another is not, or leaves fewer explanations open, as another law has settled it."""
    if not cause.candidates or not other.candidates:
        return bool(cause.candidates) and not other.candidates
    return len(cause.candidates) < len(other.candidates)


def _mending_order(bug: Bug) -> tuple[Any, ...]:
    known = bug.operation in (*operations(), *gradients())  # a report may be of another version
    return (
        list(TIERS).index(bug.tier),
        not known,
        *(mending_order(bug.operation, bug.cause.kind, bug.cause.names, bug.failing) if known else ()),
    )
