"""The examples of one invariant. Hypothesis runs them, with choices of ours, and shrinks those that no known cause explains.

Its seed, its profiles and its database keep their meaning. Examples that its database holds from earlier runs are tried first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, core, given, settings
from hypothesis import strategies as st
from hypothesis.database import ExampleDatabase, choices_to_bytes
from hypothesis.errors import Flaky, Unsatisfiable

from ..calls.history import list_lost
from ..calls.severity import VISIBLE
from ..calls.violation import Lost, Violation, not_repeated
from ..inputs import effort
from ..inputs.choices import shape_choices
from ..inputs.covering import Covering
from ..specification.run_settings import current_settings
from ..specification.work import Budget
from .call_limit import find_limit
from .engine import Ended, EngineChoices, run_examples
from .lost_calls import note_lost_calls
from .reducing import reduce_choices
from .smallest import LARGEST, Size, find_smallest, size_of
from .trial import Trial

if TYPE_CHECKING:
    from .causes import Cause
    from .failure import Failure

SHRINKING_SHARE = 0.25  # of the work for a failure; the search for its cause has what is left


class RandomChoices:
    """Random choices for an example. `covering` plans those that have a name. It belongs to all examples of a trial."""

    def __init__(self, random: Random, operation: str = "", covering: Covering | None = None):
        self.random, self.covering = random, covering
        self.choose_shape = shape_choices(operation, random)
        self.planned: int | None = None  # the place of the next choice
        if self.covering:
            self.covering.start()

    def plan(self, options: Sequence[Mapping[str, Hashable]], *, of_shape: bool) -> None:
        """Plan the next choice, which is one of these options. Each gives a kind to one factor, or to several."""
        if self.covering and not (of_shape and self.choose_shape):
            place = self.covering.choose(options, self.random)
            self.planned = place if len(options) > 1 else None

    def draw_integer(self, low: int, high: int) -> int:
        place, self.planned = self.planned, None
        return self.random.randint(low, high) if place is None else low + place

    def draw_shape(self, low: int, high: int) -> int:
        return self.draw_integer(low, high) if self.choose_shape is None else self.choose_shape(low, high)

    def mark_overrun(self) -> None:
        """Do nothing, since there is no shrinking."""


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


def plan(test: Any, trial: Trial, *, shrink: bool = True, seed: Any = None, **overrides: Any) -> Callable[[Trial], None]:
    """Return a function that runs the invariant's examples, and raises the first violation after all of them.

    Their number comes from the effort, every other setting from the Hypothesis profile. A failing example that a known cause
    explains is counted. Another one is shrunk, and its cause is looked for; then the examples go on. Without shrinking the first
    violation ends the examples.
    """
    skipped = (Phase.explain,) if shrink else (Phase.explain, Phase.shrink)
    ours = {
        "max_examples": trial.max_examples,
        "deadline": None,
        "suppress_health_check": list(HealthCheck),
        "report_multiple_bugs": False,
        "phases": [phase for phase in Phase if phase not in skipped],
    }
    profile, key, law = settings(**{**ours, **overrides}), f"{test.invariant.id} {trial.id}", test.invariant.id.replace(".", "_")
    run_seed = seed if seed is not None else core.global_force_seed
    database_used = profile.database if run_seed is None else None

    def run_hypothesis(database: ExampleDatabase, trial: Trial) -> None:
        phases = [phase for phase in profile.phases if phase is not Phase.generate]
        run: Any = settings(profile, database=database, phases=phases)(as_hypothesis_test(test))
        run._hypothesis_internal_database_key = key.encode()
        run._hypothesis_internal_use_seed = key  # an example is shrunk in the same steps in every run
        run(trial=trial)

    def find_cause(trial: Trial, database: ExampleDatabase) -> Cause | None:
        """Shrink the failing example in the database, if there is one, and return its cause."""
        lost_before = list_lost(trial.backend)
        if trial.tally.failure is not None and not trial.backend.framework.device_lost:
            trial.announce(trial.tally.failure)
        with trial.after_failure(test.invariant.subject(trial.operation_name)) as budget:
            part = budget.search.part(SHRINKING_SHARE)
            failed_again = trial.backend.framework.device_lost or shrink_example(trial, database, part)
            if (failure := trial.tally.failure) is not None:
                if not (failed_again or trial.backend.framework.device_lost):  # a device that is lost answers nothing twice
                    failure = replace(failure, violation=not_repeated(failure.violation), repeats=False)
                cause = trial.meet(failure, budget)
                note_lost_calls(cause, trial.backend, lost_before)
                return cause
        return None

    def show_better(trial: Trial, database: ExampleDatabase, cause: Cause, severity: int) -> None:
        """Shrink the failing example in the database, whose error matters more to a person, and show the cause with it."""
        with trial.after_failure(test.invariant.subject(trial.operation_name)) as budget:
            lost_before = list_lost(trial.backend)
            trial.tally.failure, part = None, budget.search.part(SHRINKING_SHARE)
            if shrink_example(trial, database, part, cause, severity) and trial.tally.failure is not None:
                trial.show_with(cause, trial.tally.failure)
            note_lost_calls(cause, trial.backend, lost_before)

    def show_smallest(trial: Trial, cause: Cause) -> None:
        """Show the cause with the smallest of some simple examples that fails of it, if one does.

        An error that a print shows is preferred, as it is where the examples are drawn.
        """
        shown = trial.shown_failure(cause)
        if shown is None or not shown.repeats or isinstance(shown.violation, Lost) or current_settings().shape_count is not None:
            return
        with trial.after_failure(test.invariant.subject(trial.operation_name)) as budget:
            lost_before, part, examples = list_lost(trial.backend), budget.search.part(SHRINKING_SHARE), trial.tally.examples
            for severity in dict.fromkeys([VISIBLE, min(shown.severity, VISIBLE)]):
                size = size_of(shown.calls) if shown.severity >= severity else LARGEST
                with trial.tally.shrink(part, cause, severity):
                    found = find_smallest(size, partial(survey, trial), partial(fails, trial), part.is_spent)
                if found and trial.tally.failure is not None:
                    trial.show_with(cause, trial.tally.failure)
                    break
            trial.tally.examples = examples  # those that were tried to show the cause are none of the law's
            note_lost_calls(cause, trial.backend, lost_before)

    def survey(trial: Trial, choices: Any) -> Size | None:
        """Return the size of the first call of an example, which is not made; None if there is none."""
        trial.tally.surveys = True
        try:
            test.replay(trial, choices)
        except Exception:  # of draws that such choices do not allow
            return None
        finally:
            trial.tally.surveys = False
        return size_of(trial.recorder.calls) if trial.recorder.calls else None

    def fails(trial: Trial, choices: Any) -> bool:
        """Return whether an example fails of the cause that the shrinking is about."""
        try:
            test.replay(trial, choices)
        except Violation:
            return True
        return False

    def shrink_example(
        trial: Trial, database: ExampleDatabase, budget: Budget, cause: Cause | None = None, severity: int = 0
    ) -> bool:
        """Shrink the failing example in the database. Return whether it failed again. `tally.failure` is then the shrunk one."""
        try:
            with trial.tally.shrink(budget, cause, severity):
                if isinstance(database, SingleExampleDatabase):
                    numbers = reduce_choices(database.numbers, partial(fails, trial), budget.is_spent)
                    database = SingleExampleDatabase(numbers or database.numbers, database.database)
                    if numbers and budget.is_spent():
                        database.save(key.encode(), database.example)
                        return True
                run_hypothesis(database, trial)
        except (Violation, Unsatisfiable):  # the latter: the budget was spent before a single example
            return True
        except Flaky:
            if trial.tally.failure is None:
                raise
        return False

    def draw_sources(*, skip_minimal: bool) -> Iterator[Iterator[Random | None]]:
        """Yield the sources of examples for each seed of the run. Without a source an example is the minimal one."""
        for number in current_settings().seeds or (None,):
            if number is not None:
                random = Random(f"{run_seed} {number} {key}")
            else:
                random = Random(
                    key if profile.derandomize and seed is None else None if run_seed is None else f"{run_seed} {key}"
                )
            yield (random if i or skip_minimal else None for i in itertools.count())

    def run(trial: Trial) -> None:
        tally, will_shrink = trial.tally, Phase.shrink in profile.phases
        better: dict[Cause, tuple[int, ExampleDatabase]] = {}  # for causes found here: an example whose error matters more
        if Phase.reuse in profile.phases and database_used is not None and any(True for _ in database_used.fetch(key.encode())):
            find_cause(trial, database_used)
        skip_minimal = profile.max_examples <= effort.current_effort().skip_minimal_up_to
        count = profile.max_examples if Phase.generate in profile.phases else 0
        tally.planned = count * len(current_settings().seeds or (None,))
        operation, drawn = test.invariant.drawn_operation(trial.operation_name), 0

        def try_example(choices: EngineChoices) -> None:
            """Run an example. If it fails of a known cause, count it. Raise a violation of any other cause."""
            nonlocal drawn
            if limit := find_limit(trial.backend):
                tally.cut = limit
                raise Ended
            if trial.backend.framework.device_lost:  # by the search for a cause; no call can be blamed for what comes now
                raise Ended
            drawn += 1
            try:
                test.replay(trial, choices)
            except Violation as violation:
                failure = tally.failure
                if not will_shrink or failure is None or (cause := trial.causes.find(failure, trial)) is None:
                    raise
                trial.count(cause, failure)
                choices.note("fails, of a cause that was found before")
                go_on_after(violation, failure, cause, SingleExampleDatabase(choices.numbers, database_used))

        def go_on_after(violation: Violation, failure: Failure, cause: Cause | None, database: ExampleDatabase) -> None:
            """Keep the example, to be shown later, if its error matters more to a person than that of the one that is shown."""
            if cause and failure.severity > max(trial.shown_severity(cause), better.get(cause, (0, database))[0]):
                better[cause] = failure.severity, database
            if isinstance(violation, Lost):
                raise Ended  # another such call may take as long

        def run_all(sources: Iterator[RandomChoices | None]) -> None:
            """Run the examples of a seed, and further ones until one is answered: the backend may have refused those few."""
            nonlocal drawn
            drawn = 0
            run_up_to(count, sources)
            while drawn < trial.most_examples and not tally.examples and tally.reported is None:
                run_up_to(drawn + 1, sources)

        def run_up_to(limit: int, sources: Iterator[RandomChoices | None]) -> None:
            """Run examples until so many are drawn. After each that fails of a new cause, look for the cause, and go on."""
            while drawn < limit and (failed := run_examples(try_example, sources, limit - drawn, profile, law)):
                failure = tally.failure
                if not isinstance(failed.error, Violation) or not will_shrink or failure is None:
                    raise failed.error
                database = SingleExampleDatabase(failed.choices.numbers, database_used)
                go_on_after(failed.error, failure, find_cause(trial, database), database)

        with suppress(Ended):
            for randoms in draw_sources(skip_minimal=skip_minimal) if count else ():
                covering = Covering(*trial.part) if count > 1 else None  # one example has nothing to share
                run_all(RandomChoices(random, operation, covering) if random else None for random in randoms)
        for shown, (severity, example) in better.items() if not trial.backend.framework.device_lost else ():
            show_better(trial, example, shown, severity)
        for finding in tally.findings if will_shrink and not trial.backend.framework.device_lost else ():
            if finding.is_new:
                show_smallest(trial, finding.cause)
        if tally.reported is not None:
            raise tally.reported.failure.violation

    return run
