"""The examples of one invariant. Hypothesis runs them, with choices of ours, and shrinks those that no known cause explains.

Its seed, its profiles and its database keep their meaning. Examples that its database holds from earlier runs are tried first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, core, settings
from hypothesis.database import ExampleDatabase

from ..calls.violation import Lost, Violation
from ..inputs import effort
from ..inputs.covering import Covering
from ..specification.run_settings import current_settings
from .call_limit import find_limit
from .engine import Ended, EngineChoices, run_examples
from .random_choices import RandomChoices
from .shrinking import FailingExamples, SingleExampleDatabase
from .trial import Trial

if TYPE_CHECKING:
    from .cause import Cause
    from .failure import Failure


class Examples:
    """The examples of an invariant on one operation, in one dtype.

    Their number comes from the effort, every other setting from the Hypothesis profile. A failing example that a known cause
    explains is counted. Another one is shrunk, and its cause is looked for; then the examples go on. Without shrinking the first
    violation ends the examples.
    """

    def __init__(self, test: Any, trial: Trial, *, shrink: bool = True, seed: Any = None, **overrides: Any):
        skipped = (Phase.explain,) if shrink else (Phase.explain, Phase.shrink)
        ours = {
            "max_examples": trial.max_examples,
            "deadline": None,
            "suppress_health_check": list(HealthCheck),
            "report_multiple_bugs": False,
            "phases": [phase for phase in Phase if phase not in skipped],
        }
        self.test, self.trial, self.profile = test, trial, settings(**{**ours, **overrides})
        self.key, self.law = f"{test.invariant.id} {trial.id}", test.invariant.id.replace(".", "_")
        self.seed, self.is_derandomized = (
            core.global_force_seed if seed is None else seed,
            self.profile.derandomize and seed is None,
        )
        self.database = self.profile.database if self.seed is None else None
        self.failing = FailingExamples(test, trial, self.profile, self.key)
        self.will_shrink = Phase.shrink in self.profile.phases
        self.better: dict[Cause, tuple[int, ExampleDatabase]] = {}  # for causes found here: an example whose error matters more
        self.drawn = 0

    def run(self) -> None:
        """Run the examples. Raise the first violation after all of them."""
        profile, tally = self.profile, self.trial.tally
        kept = self.database if Phase.reuse in profile.phases else None
        if kept is not None and any(True for _ in kept.fetch(self.key.encode())):
            self.failing.find_cause(kept)
        count = profile.max_examples if Phase.generate in profile.phases else 0
        tally.planned = count * len(current_settings().seeds or (None,))
        with suppress(Ended):
            for sources in self._draw_sources(count):
                self._run_all(count, sources)
        self._show_causes()
        if tally.reported is not None:
            raise tally.reported.failure.violation

    def _draw_sources(self, count: int) -> Iterator[Iterator[RandomChoices | None]]:
        """Yield the sources of so many examples for each seed of the run. Without a source an example is the minimal one."""
        operation = self.test.invariant.drawn_operation(self.trial.operation_name)
        skip_minimal = self.profile.max_examples <= effort.current_effort().skip_minimal_up_to
        for number in (current_settings().seeds or (None,)) if count else ():
            random = self._make_random(number)
            covering = Covering(*self.trial.part) if count > 1 else None  # one example has nothing to share
            yield (RandomChoices(random, operation, covering) if i or skip_minimal else None for i in itertools.count())

    def _make_random(self, number: int | None) -> Random:
        """Return what draws the examples of a seed of the run, None if the run has one alone."""
        if number is not None:
            return Random(f"{self.seed} {number} {self.key}")
        if self.is_derandomized:
            return Random(self.key)
        return Random() if self.seed is None else Random(f"{self.seed} {self.key}")

    def _run_all(self, count: int, sources: Iterator[RandomChoices | None]) -> None:
        """Run the examples of a seed, and further ones until one is answered: the backend may have refused those few."""
        self.drawn = 0
        self._run_up_to(count, sources)
        while self.drawn < self.trial.most_examples and not self.trial.tally.examples and self.trial.tally.reported is None:
            self._run_up_to(self.drawn + 1, sources)

    def _run_up_to(self, limit: int, sources: Iterator[RandomChoices | None]) -> None:
        """Run examples until so many are drawn. After each that fails of a new cause, look for the cause, and go on."""
        while self.drawn < limit:
            failed = run_examples(self._try_example, sources, limit - self.drawn, self.profile, self.law)
            if not failed:
                return
            failure = self.trial.tally.failure
            if not isinstance(failed.error, Violation) or not self.will_shrink or failure is None:
                raise failed.error
            database = SingleExampleDatabase(failed.choices.numbers, self.database)
            self._go_on_after(failed.error, failure, self.failing.find_cause(database), database)

    def _try_example(self, choices: EngineChoices) -> None:
        """Run an example. If it fails of a known cause, count it. Raise a violation of any other cause."""
        trial = self.trial
        if limit := find_limit(trial.backend):
            trial.tally.cut = limit
            raise Ended
        if trial.backend.framework.device_lost:  # by the search for a cause; no call can be blamed for what comes now
            raise Ended
        self.drawn += 1
        try:
            self.test.replay(trial, choices)
        except Violation as violation:
            failure = trial.tally.failure
            if not self.will_shrink or failure is None or (cause := trial.causes.find(failure, trial)) is None:
                raise
            trial.count(cause, failure)
            choices.note("fails, of a cause that was found before")
            self._go_on_after(violation, failure, cause, SingleExampleDatabase(choices.numbers, self.database))

    def _go_on_after(self, violation: Violation, failure: Failure, cause: Cause | None, database: ExampleDatabase) -> None:
        """Keep the example, to be shown later, if its error matters more to a person than that of the one that is shown."""
        if cause and failure.severity > max(self.trial.shown_severity(cause), self.better.get(cause, (0, database))[0]):
            self.better[cause] = failure.severity, database
        if isinstance(violation, Lost):
            raise Ended  # another such call may take as long

    def _show_causes(self) -> None:
        """Show each cause with the example that says most to a person, while the device answers."""
        framework = self.trial.backend.framework
        if not current_settings().seeks_causes:
            return
        for cause, (severity, example) in self.better.items() if not framework.device_lost else ():
            self.failing.show_better(example, cause, severity)
        for finding in self.trial.tally.findings if self.will_shrink and not framework.device_lost else ():
            if finding.is_new:
                self.failing.show_smallest(finding.cause)
