"""What is done with a failing example: it is shrunk, its cause is looked for, and the cause is shown with a small one.

Hypothesis shrinks it. An example that a run found is first reduced by the suite, since its choices are then few. An example of a
statistical law is not shrunk and not tried again: among many variants some fail by chance, and the counts are of many draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.database import ExampleDatabase, choices_to_bytes
from hypothesis.errors import Flaky, Unsatisfiable

from ..calls.history import list_lost
from ..calls.severity import VISIBLE
from ..calls.violation import Lost, Violation, not_repeated
from ..specification.run_settings import current_settings
from ..specification.work import Budget
from .lost_calls import note_lost_calls
from .reducing import reduce_choices
from .smallest import LARGEST, Size, find_smallest, size_of
from .trial import Trial

if TYPE_CHECKING:
    from .cause import Cause

STATISTICAL = "S"  # the kind of a law
SHRINKING_SHARE = 0.25  # of the work for a failure; the search for its cause has what is left


class SingleExampleDatabase(ExampleDatabase):
    """A database that holds one failing example, as if an earlier run had found it.

    The example that it is shrunk to is saved in the real database, if there is one.
    """

    def __init__(self, numbers: Sequence[int], database: ExampleDatabase | None):
        super().__init__()
        self.numbers, self.example, self.database = numbers, choices_to_bytes(numbers), database

    def fetch(self, key: bytes) -> Iterable[bytes]:
        """Return the example only for the secondary key, since Hypothesis takes what the key itself holds for shrunk."""
        return [self.example] if key.endswith(b".secondary") else []

    def save(self, key: bytes, value: bytes) -> None:
        if self.database is not None:
            self.database.save(key, value)

    def delete(self, key: bytes, value: bytes) -> None:
        if self.database is not None:
            self.database.delete(key, value)


def as_hypothesis_test(test: Any) -> Any:
    """Return the test of an invariant as one of Hypothesis, which runs it on examples that Hypothesis draws or changes."""

    def run_example(trial: Trial, data: Any) -> None:
        test.replay(trial, data.conjecture_data)

    run_example.__name__ = run_example.__qualname__ = test.invariant.id.replace(".", "_")
    return given(data=st.data())(run_example)


class FailingExamples:
    """What tries failing examples of one invariant again, each within the work that a failure may cost."""

    def __init__(self, test: Any, trial: Trial, profile: settings, key: str):
        self.test, self.trial, self.profile, self.key = test, trial, profile, key
        self.subject = test.invariant.subject(trial.operation_name)
        self.is_statistical = test.invariant.kind == STATISTICAL

    def find_cause(self, database: ExampleDatabase) -> Cause | None:
        """Shrink the failing example in the database, if there is one, and return its cause."""
        trial, seeks = self.trial, current_settings().seeks_causes
        lost_before = list_lost(trial.backend)
        if trial.tally.failure is not None and not trial.backend.framework.device_lost:
            trial.announce(trial.tally.failure)
        with trial.after_failure(self.subject) as budget:
            part = budget.search.part(SHRINKING_SHARE)
            is_kept = trial.backend.framework.device_lost or not seeks or self.is_statistical
            failed_again = is_kept or self._shrink(database, part)
            if (failure := trial.tally.failure) is None:
                return None
            if not (failed_again or trial.backend.framework.device_lost):  # a device that is lost answers nothing twice
                failure = replace(failure, violation=not_repeated(failure.violation), repeats=False)
            cause = trial.meet(failure, budget)
            note_lost_calls(cause, trial.backend, lost_before)
            return cause

    def show_better(self, database: ExampleDatabase, cause: Cause, severity: int) -> None:
        """Shrink the failing example in the database, whose error matters more to a person, and show the cause with it."""
        trial = self.trial
        if self.is_statistical:
            return
        with trial.after_failure(self.subject) as budget:
            lost_before = list_lost(trial.backend)
            trial.tally.failure, part = None, budget.search.part(SHRINKING_SHARE)
            if self._shrink(database, part, cause, severity) and trial.tally.failure is not None:
                trial.show_with(cause, trial.tally.failure)
            note_lost_calls(cause, trial.backend, lost_before)

    def show_smallest(self, cause: Cause) -> None:
        """Show the cause with the smallest of some simple examples that fails of it, if one does.

        An error that a print shows is preferred, as it is where the examples are drawn.
        """
        trial, shown = self.trial, self.trial.shown_failure(cause)
        if shown is None or not shown.repeats or isinstance(shown.violation, Lost):
            return
        if self.is_statistical or current_settings().shape_count is not None:
            return
        with trial.after_failure(self.subject) as budget:
            lost_before, part, examples = list_lost(trial.backend), budget.search.part(SHRINKING_SHARE), trial.tally.examples
            for severity in dict.fromkeys([VISIBLE, min(shown.severity, VISIBLE)]):
                size = size_of(shown.calls) if shown.severity >= severity else LARGEST
                with trial.tally.shrink(part, cause, severity):
                    found = find_smallest(size, self._survey, self._fails, part.is_spent)
                if found and trial.tally.failure is not None:
                    trial.show_with(cause, trial.tally.failure)
                    break
            trial.tally.examples = examples  # those that were tried to show the cause are none of the law's
            note_lost_calls(cause, trial.backend, lost_before)

    def _survey(self, choices: Any) -> Size | None:
        """Return the size of the first call of an example, which is not made; None if there is none."""
        self.trial.tally.surveys = True
        try:
            self.test.replay(self.trial, choices)
        except Exception:  # of draws that such choices do not allow
            return None
        finally:
            self.trial.tally.surveys = False
        return size_of(self.trial.recorder.calls) if self.trial.recorder.calls else None

    def _fails(self, choices: Any) -> bool:
        """Return whether an example fails of the cause that the shrinking is about."""
        try:
            self.test.replay(self.trial, choices)
        except Violation:
            return True
        return False

    def _shrink(self, database: ExampleDatabase, budget: Budget, cause: Cause | None = None, severity: int = 0) -> bool:
        """Shrink the failing example in the database. Return whether it failed again. `tally.failure` is then the shrunk one."""
        try:
            with self.trial.tally.shrink(budget, cause, severity):
                if isinstance(database, SingleExampleDatabase):
                    numbers = reduce_choices(database.numbers, self._fails, budget.is_spent)
                    database = SingleExampleDatabase(numbers or database.numbers, database.database)
                    if numbers and budget.is_spent():
                        database.save(self.key.encode(), database.example)
                        return True
                self._run_hypothesis(database)
        except (Violation, Unsatisfiable):  # the latter: the budget was spent before a single example
            return True
        except Flaky:
            if self.trial.tally.failure is None:
                raise
        return False

    def _run_hypothesis(self, database: ExampleDatabase) -> None:
        phases = [phase for phase in self.profile.phases if phase is not Phase.generate]
        run: Any = settings(self.profile, database=database, phases=phases)(as_hypothesis_test(self.test))
        run._hypothesis_internal_database_key = self.key.encode()
        run._hypothesis_internal_use_seed = self.key  # an example is shrunk in the same steps in every run
        run(trial=self.trial)
