"""The calls that may become vectors: those that the laws make of the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..bounds.expectation import Expectation
from ..calls.call import Call
from ..deviations import OracleBackend
from ..implementation.backend import build_backend
from ..running.session import Session
from ..specification.pytree import leaves
from ..specification.registry import operations
from ..trials.attempt import find_violation
from ..trials.collection import invariants
from ..trials.invariant import Invariant
from ..trials.trial import GENERAL, Trial

MAX_ELEMENTS = 4096  # of a call's arguments and result together: files are to be small
MAX_CANDIDATES = 400  # of an operation: more add time and hardly a deviation


@dataclass(frozen=True)
class Candidate:
    """A call, and the law that made it."""

    call: Call
    law: str

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


class RecordingTrial(Trial):
    """A trial that keeps every call of its operation."""

    def remember(self, calls: list[Call]) -> None:
        self.__dict__.setdefault("kept", []).extend(calls)


def find_candidates(operation: str, seed: int, dtypes: tuple[str, ...] = ()) -> list[Candidate]:
    """Return calls of the operation that the laws make of the oracle, each call once, those of each law in turn.

    `dtypes` names those to make calls in; all, if it is empty.
    """
    oracle = build_backend(OracleBackend(), operations())
    by_law: dict[str, list[Candidate]] = {}
    seen: set[Any] = set()
    for test, trial in _list_trials(operation, oracle, dtypes):
        law = test.invariant.id_for(trial.operation_name)
        recording = RecordingTrial(
            trial.backend, trial.dtype, trial.precision, trial.operation_name, max_examples=trial.max_examples
        )
        find_violation(test, recording, f"{seed} {trial.id}", database=None)
        for call in recording.__dict__.get("kept", []):
            if call.operation.name == operation and (key := _identify(call)) not in seen and is_suitable(call):
                seen.add(key)
                by_law.setdefault(law, []).append(Candidate(call, law))
    in_turn = [candidate for row in _zip_longest(list(by_law.values())) for candidate in row]
    return in_turn[:MAX_CANDIDATES]


def _list_trials(operation: str, oracle: Any, dtypes: tuple[str, ...]) -> Iterator[tuple[Any, Trial]]:
    """Yield the trials of the laws about the operation that fail a run: no levels."""
    session = Session.for_backend(oracle, dtypes)
    for test in invariants():
        invariant: Invariant = test.invariant
        if invariant.level is not None or not {operation, *GENERAL} & set(invariant.operations):
            continue
        for trial in session.selection.trials(invariant):
            concerns = not trial.operation_name or trial.operation_name == operation
            if concerns and not trial.redundant and not trial.missing(invariant.operations):
                yield test, trial


def _zip_longest(lists: list[list[Candidate]]) -> Iterator[list[Candidate]]:
    for number in range(max(map(len, lists), default=0)):
        yield [items[number] for items in lists if number < len(items)]


def _identify(call: Call) -> Any:
    """Return what tells one call from another: its dtype, its arguments, and the values of its keywords."""
    parts = [(path, x.shape, x.tobytes()) if isinstance(x, np.ndarray) else (path, repr(x)) for path, x in leaves(call.named)]
    return call.operation.dtype, *map(tuple, parts)


def is_suitable(call: Call) -> bool:
    """Whether a call can be a vector: its arguments are exact, it is small, and something is claimed of its result."""
    if call.inexact or call.observed is None or not call.is_answered:
        return False
    try:
        if call.size + call.value.size > MAX_ELEMENTS or not call.named:
            return False
        claimed = call.expectation(call.operation.precision).claimed
        return not claimed.size or bool(np.any(claimed))  # an empty result has a shape
    except ValueError:  # the equation refuses the arguments
        return False
