"""What explains some of the failing examples of a backend, and who answers the questions that are asked to find it.

A cause is one of these:
- an explanation of wrong answers, such as a known deviation; it predicts answers, so that it recognizes its other failures;
- an exception of one type and text, in one operation or at one place in the backend's code;
- another symptom without wrong answers, such as a result of a wrong shape;
- wrong answers of one operation that nothing explains. They are not told apart.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from ..calls.call import Call
from ..calls.violation import NoAnswer, Violation
from ..deviations._oracle_backend import prepare
from ..diagnosis.explanation import Explanation
from ..diagnosis.regions.refused import Region as RaisingRegion
from ..diagnosis.regions.region import Region
from ..implementation.backend import Backend
from ..specification.run_settings import current_settings
from .failure import Failure
from .new_cause import Questions

UNEXPLAINED = "unexplained"


class Asker(Questions, Protocol):
    """What the search for a cause asks of a trial, which can call the backend."""

    @property
    def backend(self) -> Backend: ...

    def find_other_calls(self, failing: list[Call]) -> list[Call]: ...

    def forward_of(self, gradient: Call) -> Call: ...

    def run_forward(self, gradient: Call) -> tuple[Call, Violation | None]: ...

    def would_fail(self, failure: Failure, explanations: list[Explanation]) -> bool: ...

    def find_raising_region(self, failed: Call) -> RaisingRegion | None: ...

    def find_origin(self, failure: Failure) -> list[Call]: ...


@dataclass(eq=False)
class Cause:
    """What explains some of the failing examples of a backend."""

    ids: tuple[str, ...]  # the same in every run: of the explanations, or of the symptom; causes that share one are one
    operation: str  # the one to mend: the one that failed, or a part of it
    explanations: list[Explanation]  # that are equally good; [] if nothing explains the failure
    example: Failure  # the first one, shrunk
    wrong: int = 0  # wrong answers that the explanation was tested on, when it was found
    right: int = 0  # right answers, none of which contradicts it
    is_unexplained: bool = False  # whether it is wrong answers that nothing explains
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)  # failing examples, by law and dtype
    dtypes: set[str] = field(default_factory=set)  # in which an explanation was looked for
    ended_after: float | None = None  # the seconds after which the safety net ended the search, if it did
    met_shapes: bool = False  # whether the search for it was kept from asking for further shapes
    raising: RaisingRegion | None = None  # for which calls an exception is raised, if that could be told
    shown: str = ""  # what further calls have shown, which no explanation has to be looked for
    lost_call: str = ""  # the sentence about a call of the search for it that ended its process or lost its device
    told: bool = False  # whether a failed test has printed it
    together: list[Explanation] = field(default_factory=list)  # of answers in which another cause is at work as well

    @property
    def kind(self) -> str:
        """What the cause is: the kind of its explanation, "exception", "unexplained" wrong answers, or another "symptom"."""
        if self.explanations:
            return self.explanations[0].kind
        violation = self.example.violation
        if isinstance(violation, NoAnswer) and violation.raised:
            return "exception"
        return UNEXPLAINED if self.is_unexplained else "symptom"

    @property
    def symptom(self) -> str:
        """What was seen, in one sentence: the whole of it where nothing explains it."""
        violation = self.example.violation
        if self.shown:
            return self.shown
        if self.kind == UNEXPLAINED:
            why = "that nothing known explains" if current_settings().seeks_causes else "whose cause was not looked for"
            return f"wrong answers {why}; at first {violation.what}"
        place = violation.raised[1] if isinstance(violation, NoAnswer) and violation.raised else ""
        state = f", with {self.example.surroundings}" if self.example.surroundings else ""
        where = f"; it raises for {self.raising.words.removeprefix('refuses ')}" if self.raising else ""
        return f"{violation.what}{state}{f', at {place}' if place else ''}{where}"

    @property
    def ended_early(self) -> str:
        """What has ended the search for the cause, "" if nothing has: a clock, or the number of shapes that it may ask for."""
        if self.ended_after is not None:
            return f"the search for the cause was ended after {self.ended_after:g} s; on a faster machine it may say more"
        if self.met_shapes:
            return "the search for the cause has reached its limit of new shapes, each of which takes long at first"
        return ""

    def predicts(self, call: Call) -> bool:
        """Whether it explains the wrong answer of a call."""
        return any(
            explanation.predicts(call)
            for explanation in (*self.explanations, *self.together)
            if explanation.kind != "region" or call.operation.name == self.operation  # a region is one of one operation
        )

    def raises(self, call: Call) -> bool:
        """Whether the equation of an explanation cannot be computed for a call, as that of an axis which the arrays lack."""
        for explanation in self.explanations:
            if (equation := explanation.equation_of(call.operation.name)) is not None:
                try:
                    call.evaluate(lambda x: x, prepare(call.operation.name, equation, call.operation.storage))
                except (IndexError, ValueError):
                    return True
        return False

    def covers(self, call: Call) -> bool:
        """Whether it is a region that holds the call, though the error may not show in its answer."""
        return any(isinstance(explanation, Region) and explanation.covers(call) for explanation in self.explanations)

    def takes_in(self, failure: Failure) -> bool:
        """Whether a failure that nothing explains is counted for this cause: nothing explains the cause either."""
        is_open = self.is_unexplained or bool(self.shown)
        return not isinstance(failure.violation, NoAnswer) and is_open and self.operation == failure.culprit

    def explain_by(self, other: Cause) -> Cause:
        """Take the explanation of another cause in place of its own, and return itself. It is then the same as that one."""
        self.ids, self.explanations = (*self.ids, *other.ids), other.explanations
        self.wrong, self.right = other.wrong, other.right
        return self

    def is_same(self, other: Cause) -> bool:
        """Whether two causes are one: they share an id, as where the one settles which explanation of the other is right."""
        return not set(self.ids).isdisjoint(other.ids)
