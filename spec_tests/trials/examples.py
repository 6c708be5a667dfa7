"""The examples of one invariant: rows of integers, drawn plainly until one fails. Hypothesis takes that one over, and shrinks it.

Most examples pass, and its bookkeeping for those was a fifth of a run. What its database holds of earlier runs comes first. Its
seed, its profiles and its database mean what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, core, given, settings
from hypothesis import strategies as st
from hypothesis.database import ExampleDatabase, choices_to_bytes
from hypothesis.errors import Flaky

from ..calls.violation import Violation
from ..inputs import effort
from ..inputs.choices import shape_choices
from .trial import Trial


class RandomChoices:
    """Stands where Hypothesis's choices do. Without chance it is the plainest example."""

    def __init__(self, random: Random | None, operation: str = ""):
        self.random, self.row = random, list[int]()
        self.shapes = shape_choices(operation, random) if random else None

    def draw_integer(self, low: int, high: int) -> int:
        self.row.append(self.random.randint(low, high) if self.random else low)
        return self.row[-1]

    def draw_shape(self, low: int, high: int) -> int:
        if self.shapes is None:
            return self.draw_integer(low, high)
        self.row.append(self.shapes(low, high))
        return self.row[-1]

    def mark_overrun(self) -> None:
        """Nothing is shrunk here."""


class SingleExampleDatabase(ExampleDatabase):
    """One row of integers, as if an earlier run had come by it; what it shrinks to is kept in the database behind, if any."""

    def __init__(self, row: list[int], behind: ExampleDatabase | None):
        super().__init__()
        self.row, self.behind = choices_to_bytes(row), behind

    def fetch(self, key: bytes) -> Iterable[bytes]:
        """Not under the key itself: what stands there has been shrunk."""
        return [self.row] if key.endswith(b".secondary") else []

    def save(self, key: bytes, value: bytes) -> None:
        if self.behind is not None:
            self.behind.save(key, value)

    def delete(self, key: bytes, value: bytes) -> None:
        if self.behind is not None:
            self.behind.delete(key, value)


def plan(test: Any, trial: Trial, *, shrink: bool = True, seed: Any = None, **others: Any) -> Callable[[Trial], None]:
    """The invariant's test with the examples that the effort affords; what else Hypothesis is told is the profile's."""
    left_out = (Phase.explain,) if shrink else (Phase.explain, Phase.shrink)
    ours = {
        "max_examples": trial.share,
        "deadline": None,
        "suppress_health_check": list(HealthCheck),
        "report_multiple_bugs": False,
        "phases": [phase for phase in Phase if phase not in left_out],
    }
    told, key = settings(**{**ours, **others}), f"{test.invariant.id} {trial.id}"
    forced = seed if seed is not None else core.global_force_seed
    stored = told.database if forced is None else None

    def reused(database: ExampleDatabase, trial: Trial) -> None:
        phases = [phase for phase in told.phases if phase is not Phase.generate]
        run: Any = settings(told, database=database, phases=phases)(given(data=st.data())(test.hypothesis.inner_test))
        run._hypothesis_internal_database_key = key.encode()
        run(trial=trial)

    def run(trial: Trial) -> None:
        if Phase.reuse in told.phases and stored is not None and any(True for _ in stored.fetch(key.encode())):
            reused(stored, trial)
        few = effort.current_effort().skip_minimal_up_to
        random = Random(key if told.derandomize and seed is None else None if forced is None else f"{forced} {key}")
        for i in range(told.max_examples if Phase.generate in told.phases else 0):
            choices = RandomChoices(
                random if i or told.max_examples <= few else None, test.invariant.drawn_operation(trial.operation_name)
            )
            try:
                test.replay(trial, choices)
            except Violation:
                if Phase.shrink not in told.phases:
                    raise
                reused(SingleExampleDatabase(choices.row, stored), trial)
                raise Flaky("what failed does not fail again") from None

    return run
