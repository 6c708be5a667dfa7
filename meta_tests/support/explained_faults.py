"""What the laws of an operation say of a fault whose right sentence is known, and whether that is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spec_tests.implementation.backend import Backend
from spec_tests.report.causes import state_cause

from .in_process import attempt, trials_of

SEED = 1


@dataclass(frozen=True)
class ExplainedFault:
    """A fault: the operation that has it, texts that its sentence must hold, and one of another sentence that is true."""

    name: str
    operation: str
    says: tuple[str, ...]
    also_true: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What a run said of a fault."""

    fault: ExplainedFault
    claims: tuple[str, ...]  # a sentence of each cause that was found
    symptoms: tuple[str, ...]  # of each other cause: what was seen, which says no reason
    errors: tuple[str, ...]  # of the suite's own

    @property
    def verdict(self) -> str:
        """Whether the right sentence is said and no other, or nothing but what was seen."""
        if self.errors:
            return "BLAMED ON THE SUITE"
        also_true = [claim for claim in self.claims if self.fault.also_true is not None and self.fault.also_true in claim]
        if any(not self._is_right(claim) for claim in self.claims if claim not in also_true):
            return "WRONG"
        if any(map(self._is_right, (*self.claims, *self.symptoms))):
            return "right"
        return "true but another" if also_true else "unexplained" if self.symptoms else "NOT FOUND"

    def _is_right(self, sentence: str) -> bool:
        return all(words in sentence for words in self.fault.says)

    def describe(self) -> Iterator[str]:
        """Yield the lines about the fault."""
        yield f"{self.fault.name}: {self.verdict}"
        yield f"  expected  {self.fault.operation}: {' … '.join(self.fault.says)}"
        yield from (f"  said      {sentence}" for sentence in self.claims)
        yield from (f"  seen      {sentence}" for sentence in self.symptoms)
        yield from (f"  error     {error}" for error in self.errors)


def try_laws(fault: ExplainedFault, under_test: Backend) -> Outcome:
    """Return what the laws of the operation say of the fault, at default effort."""
    errors: list[str] = []
    for test, trial in trials_of(fault.operation, under_test):
        if test.invariant.level or test.invariant.subject(trial.operation_name) != fault.operation:
            continue
        try:
            attempt(test, trial, SEED, shrink=True)
        except Exception as error:  # of the suite
            errors.append(f"{test.invariant.id_for(trial.operation_name)}: {type(error).__name__}: {error}")
        if under_test.framework.device_lost:
            break
    found: dict[bool, list[str]] = {True: [], False: []}
    for cause in under_test.causes:
        found[bool(cause.explanations or cause.shown)].append(state_cause(cause, 1).what)
    return Outcome(fault, tuple(found[True]), tuple(found[False]), tuple(errors))


def count_verdicts(rows: dict[str, str], what: str) -> str:
    """Return the line that counts the verdicts of rows as `describe` writes them."""
    verdicts = [row.partition("\n")[0].partition(": ")[2] for row in rows.values()]
    return f"{len(rows)} {what}: " + ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))
