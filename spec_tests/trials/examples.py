"""The examples of one invariant, drawn at random. Hypothesis replays and shrinks those that no known cause explains.

Passing examples are drawn without Hypothesis, because its bookkeeping for them took a fifth of a run. Its seed, its profiles and
its database keep their meaning. The examples that its database holds from earlier runs are tried first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, core, given, settings
from hypothesis import strategies as st
from hypothesis.database import ExampleDatabase, choices_to_bytes
from hypothesis.errors import Flaky, Unsatisfiable

from ..calls.history import list_lost
from ..calls.violation import Lost, Violation, not_repeated
from ..inputs import effort
from ..inputs.choices import shape_choices
from ..inputs.covering import Covering
from ..specification.run_settings import current_settings
from ..specification.work import Budget
from .call_limit import find_limit
from .lost_calls import note_lost_calls
from .reducing import ReducedChoices, reduce_choices
from .trial import Trial

if TYPE_CHECKING:
    from .causes import Cause

SHRINKING_SHARE = 0.25  # of the work for a failure; the search for its cause has what is left


class RandomChoices:
    """A source of random choices, in place of Hypothesis's. Without `random` it makes the simplest example."""

    def __init__(self, random: Random | None, operation: str = "", covering: Covering | None = None):
        """`covering` plans the choices that have a name. It belongs to all examples of a trial."""
        self.random, self.numbers = random, list[int]()
        self.choose_shape = shape_choices(operation, random) if random else None
        self.covering = covering if random else None
        self.planned: int | None = None  # the place of the next choice
        if self.covering:
            self.covering.start()

    def plan(self, options: Sequence[Mapping[str, Hashable]], *, of_shape: bool) -> None:
        """Plan the next choice, which is one of these options. Each gives a kind to one factor, or to several."""
        if self.covering and self.random and not (of_shape and self.choose_shape):
            place = self.covering.choose(options, self.random)
            self.planned = place if len(options) > 1 else None

    def draw_integer(self, low: int, high: int) -> int:
        place, self.planned = self.planned, None
        if place is None:
            self.numbers.append(self.random.randint(low, high) if self.random else low)
        else:
            self.numbers.append(low + place)
        return self.numbers[-1]

    def draw_shape(self, low: int, high: int) -> int:
        if self.choose_shape is None:
            return self.draw_integer(low, high)
        self.numbers.append(self.choose_shape(low, high))
        return self.numbers[-1]

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

    run_example.__name__, run_example.__qualname__ = test.__name__, test.__qualname__
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
    profile, key = settings(**{**ours, **overrides}), f"{test.invariant.id} {trial.id}"
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

    def fails(trial: Trial, choices: ReducedChoices) -> bool:
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

    def draw_sources(count: int, *, skip_minimal: bool) -> Iterator[Iterator[Random | None]]:
        """Yield the sources of `count` examples for each seed of the run. Without a source an example is the minimal one."""
        for number in current_settings().seeds or (None,):
            if number is not None:
                random = Random(f"{run_seed} {number} {key}")
            else:
                random = Random(
                    key if profile.derandomize and seed is None else None if run_seed is None else f"{run_seed} {key}"
                )
            yield (random if i or skip_minimal else None for i in range(count))

    def run(trial: Trial) -> None:
        tally, will_shrink = trial.tally, Phase.shrink in profile.phases
        better: dict[Cause, tuple[int, ExampleDatabase]] = {}  # for causes found here: an example whose error matters more
        if Phase.reuse in profile.phases and database_used is not None and any(True for _ in database_used.fetch(key.encode())):
            find_cause(trial, database_used)
        skip_minimal = profile.max_examples <= effort.current_effort().skip_minimal_up_to
        count = profile.max_examples if Phase.generate in profile.phases else 0
        covering = Covering(*trial.part) if count > 1 else None  # one example has nothing to share
        tally.planned = count * len(current_settings().seeds or (None,))
        for random in chain.from_iterable(draw_sources(count, skip_minimal=skip_minimal)):
            if limit := find_limit(trial.backend):
                tally.cut = limit
                break
            if trial.backend.framework.device_lost:  # by the search for a cause; no call can be blamed for what comes now
                break
            choices = RandomChoices(random, test.invariant.drawn_operation(trial.operation_name), covering)
            try:
                test.replay(trial, choices)
            except Violation as violation:
                failure = tally.failure
                if not will_shrink or failure is None:
                    raise
                database = SingleExampleDatabase(choices.numbers, database_used)
                if (cause := trial.causes.find(failure, trial)) is None:
                    cause = find_cause(trial, database)
                else:
                    trial.count(cause, failure)
                if cause and failure.severity > max(trial.shown_severity(cause), better.get(cause, (0, database))[0]):
                    better[cause] = failure.severity, database
                if isinstance(violation, Lost):
                    break  # another such call may take as long
        for shown, (severity, example) in better.items() if not trial.backend.framework.device_lost else ():
            show_better(trial, example, shown, severity)
        if tally.reported is not None:
            raise tally.reported.failure.violation

    return run
