"""The calls that may become vectors: plain ones, those of the comparison with the equation, and those that other laws make."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

import numpy as np

from ..bounds.expectation import Expectation
from ..calls.call import Call
from ..calls.in_domain import outside_domain
from ..calls.operation import Operation
from ..calls.violation import NotImplementedVariant, Violation
from ..deviations import OracleBackend
from ..helpers.numbers import arrange_rows, list_forms
from ..implementation.backend import Backend
from ..implementation.framework import Framework
from ..implementation.guard import Fault
from ..inputs.covering import Covering, Item
from ..inputs.draw import Draw
from ..inputs.effort import EFFORTS
from ..running.session import Session
from ..specification.numbers import numbers_to_try
from ..specification.pytree import leaves
from ..trials.collection import invariants
from ..trials.invariant import Invariant
from ..trials.random_choices import RandomChoices
from ..trials.trial import GENERAL, Trial
from .plain_form import is_plain, restrict_to_plain_form
from .small_draw import MAX_ELEMENTS, MAX_LONG_ELEMENTS, LongDraw, SmallDraw

Domain = dict[str, dict[str, Any]]

DRAWN = EFFORTS["default"].base  # calls in one dtype that the comparison with the equation draws
PLAIN = 24  # calls of the plain form in one dtype: more than there are size classes
LONG = 12  # calls of the plain form in one dtype that may be long
SWEPT = MAX_ELEMENTS // 2  # numbers in a call of an elementwise operation that are spread over all numbers of the dtype


@dataclass(frozen=True)
class Candidate:
    """A call, the law that made it, and the kinds of what was chosen for it: of sizes, options and the regimes of arrays."""

    call: Call
    law: str
    chosen: frozenset[Item] = field(default=frozenset(), compare=False)

    @cached_property
    def expectation(self) -> Expectation:
        """The value of the equation, and the interval in which a correct result lies."""
        return self.call.expectation(self.call.operation.precision)

    @property
    def size(self) -> int:
        """How many numbers its file has of it: the arguments, and three for each element of the result."""
        return self.call.size + 3 * self.call.value.size

    @property
    def dtype(self) -> str:
        return self.call.operation.dtype

    @cached_property
    def is_plain(self) -> bool:
        """Whether it has no optional array, and each option at its default."""
        return is_plain(self.call)

    @cached_property
    def is_claimed(self) -> bool:
        """Whether something is claimed of its result. An empty one has a shape.

        The oracle answers the call: a result may be wider than the arguments, and some are judged at others.
        """
        operation = self.call.operation
        assert isinstance(operation, Operation)
        try:
            if self.call.observed is None:
                operation.values(self.call, operation.run(self.call))
            claimed = self.expectation.claimed
        except (NotImplementedVariant, Violation):
            return False
        return not claimed.size or bool(np.any(claimed))


def make_oracle(domain: Domain | None = None) -> Backend:
    """Return the oracle, which states this domain of the operations in it. Raise BackendError if these have none such."""
    backend = Backend("oracle", OracleBackend(), Framework("numpy"))
    if domain:
        backend.replace_domain({**backend.domain, **domain})
    return backend


def find_candidates(operation: str, seed: int, dtypes: tuple[str, ...] = (), domain: Domain | None = None) -> list[Candidate]:
    """Return calls of the operation inside the domain, each once. `dtypes` names those to make calls in; all, if it is empty."""
    oracle = make_oracle(domain)
    found: dict[Any, Candidate] = {}
    for candidate in _list_candidates(operation, oracle, seed, dtypes):
        call = candidate.call
        if is_suitable(call, MAX_LONG_ELEMENTS if candidate.is_plain else MAX_ELEMENTS) and not outside_domain(call):
            found.setdefault(_identify(call), candidate)
    return list(found.values())


def _list_candidates(operation: str, oracle: Backend, seed: int, dtypes: tuple[str, ...]) -> Iterator[Candidate]:
    plain = make_oracle({**oracle.domain, **restrict_to_plain_form(operation, oracle.domain)})
    for test, trial in list_trials(operation, oracle, dtypes):
        law, source = test.invariant.id_for(trial.operation_name), f"{seed} {test.invariant.id} {trial.id}"
        if not test.invariant.compares_with_oracle:
            yield from _record(test, trial, operation, law, source)
            continue
        every_form = trial.operation(operation)
        plain_form = Trial(plain, trial.dtype, trial.precision, operation).operation(operation)
        yield from _draw(plain_form, law, PLAIN, f"{source} plain", SmallDraw)
        yield from _draw(plain_form, law, LONG, f"{source} long", LongDraw)
        yield from _draw(every_form, law, DRAWN, source, SmallDraw)
        if every_form.spec.declaration.elementwise:
            yield from _sweep(every_form, law.replace("reference", "every_number"), source)


def _draw(operation: Operation, law: str, count: int, seed: str, kind: type[Draw]) -> Iterator[Candidate]:
    """Yield calls as the comparison with the equation draws them, which together have many pairs of kinds."""
    covering, random = Covering(), Random(seed)
    for _ in range(count):
        choices = RandomChoices(random, operation.name, covering)
        draw = kind(choices.draw_integer, operation, choices.draw_shape)
        draw.plan = choices.plan
        try:
            call = draw.call(any_branch=True)
        except NotImplementedVariant:
            continue
        yield Candidate(call, law, list_chosen(covering))


def _sweep(operation: Operation, law: str, seed: str) -> Iterator[Candidate]:
    """Yield a call of each form of an elementwise operation: numbers of every order of magnitude, as every_number has all."""
    draw = SmallDraw(Random(seed).randint, operation)
    numbers = numbers_to_try(draw.format, draw.rng, is_gradient=operation.spec.is_gradient)
    step = -(-len(numbers) // SWEPT)
    for number, keywords in enumerate(list_forms(operation)):
        try:
            rows = arrange_rows(operation, numbers[number % step :: step], SWEPT)
        except NotImplementedVariant:
            return
        cotangent = (draw.normal(rows.shape),) if operation.spec.is_gradient else ()
        yield Candidate(operation.call(*cotangent, rows, **keywords), law, frozenset(keywords.items()))


class SmallChoices(RandomChoices):
    """Random choices for an example of small calls."""

    make_draw = SmallDraw


def _record(test: Any, trial: Trial, operation: str, law: str, seed: str) -> Iterator[Candidate]:
    """Yield the small calls of the operation that a law makes of the oracle, in as many examples as a default run plans."""
    is_drawn, covering, random = test.invariant.drawn_operation(trial.operation_name) == operation, Covering(), Random(seed)
    _, parts = trial.part
    for _ in range(max(trial.max_examples, -(-test.invariant.planned_examples // parts))):
        choices = SmallChoices(random, test.invariant.drawn_operation(trial.operation_name), covering)
        calls = record_example(test, trial, choices)
        chosen = list_chosen(covering) if is_drawn else frozenset[Item]()
        yield from (Candidate(call, law, chosen) for call in calls if call.operation.name == operation)


def record_example(test: Any, trial: Trial, choices: RandomChoices) -> list[Call]:
    """Return the calls that an example of a law makes. What the law says of them is for others to test."""
    recording = RecordingTrial(trial.backend, trial.dtype, trial.precision, trial.operation_name)
    with suppress(Violation, Fault):
        test.replay(recording, choices)
    return recording.kept


def list_chosen(covering: Covering) -> frozenset[Item]:
    """Return the kinds that the present example has chosen."""
    by_factor = {factor: {bit: kind for kind, bit in bits.items()} for factor, bits in covering.of_factor.items()}
    return frozenset((factor, by_factor[factor][bit]) for factor, bit in covering.chosen.items())


@dataclass(repr=False)
class RecordingTrial(Trial):
    """A trial that keeps every call."""

    kept: list[Call] = field(default_factory=list)

    def remember(self, calls: list[Call]) -> None:
        self.kept.extend(calls)


def list_trials(operation: str, oracle: Backend, dtypes: tuple[str, ...]) -> Iterator[tuple[Any, Trial]]:
    """Yield the trials of the laws about the operation that fail a run: no levels, and none about memory, state or layouts."""
    session = Session.for_backend(oracle, dtypes)
    for test in invariants():
        invariant: Invariant = test.invariant
        if invariant.level is not None or invariant.about_state or not {operation, *GENERAL} & set(invariant.operations):
            continue
        for trial in session.selection.trials(invariant, (operation,)):
            concerns = not trial.operation_name or trial.operation_name == operation
            if concerns and not trial.redundant and not trial.missing(invariant.operations):
                yield test, trial


def _identify(call: Call) -> Any:
    """Return what tells one call from another: its dtype, its arguments, and the values of its keywords."""
    parts = [(path, x.shape, x.tobytes()) if isinstance(x, np.ndarray) else (path, repr(x)) for path, x in leaves(call.named)]
    return call.operation.dtype, *map(tuple, parts)


def is_suitable(call: Call, max_elements: int) -> bool:
    """Whether a call can be a vector: its arguments are exact, it is small, and the equation takes it."""
    if call.inexact or not call.named or call.size > max_elements:
        return False
    try:
        return call.size + call.value.size <= max_elements
    except ValueError:
        return False
