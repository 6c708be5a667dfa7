"""Which trials a run makes of an invariant: the backends, operations and dtypes, and the number of examples of each."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import dataclass

from ..implementation.backend import Backend
from ..inputs import effort
from ..specification.registry import gradients, operations, specification
from ..trials.invariant import Invariant
from ..trials.mending import count_parts
from ..trials.trial import GENERAL, Trial

# When a backend lacks an operation, these invariants say so for all others.
REPORT_ABSENCE = ("operation.reference", "gradient.reference")


def is_selected(invariant: Invariant) -> bool:
    """Whether the invariant is tried at the current effort. Some are tried at one effort only."""
    return invariant.effort in (None, effort.current_effort().name)


def is_unneeded(invariant: Invariant, trial: Trial) -> bool:
    """Whether a trial need not run: it would show nothing new, or it is tried at another effort."""
    return trial.redundant or not is_selected(invariant)


def mending_order(invariant: Invariant, trial: Trial) -> tuple[bool, bool, int, str, bool, bool]:
    """Return the key by which trials are sorted: operations before those that they are parts of, gradients after operations.

    The comparisons with the oracle come first, since they catch most bugs; then each operation has the laws that hold of every
    operation, and its own. Float64 comes last, because a backend that computes in float32 fails there first.
    """
    subject = invariant.subject(trial.operation_name)
    parts = count_parts(subject) if trial.backend.has(subject) else 0
    is_late, is_own = not invariant.compares_with_oracle, not invariant.is_general
    return subject.endswith("_vjp"), is_late, parts, subject if is_late else "", is_own, trial.dtype == "float64"


def operation_names(invariant: Invariant) -> tuple[str, ...]:
    """Return the operations that a general invariant is tried on, or ("",) for an invariant of one operation."""
    return {"operation": operations(), "gradient": gradients()}.get(invariant.operations[0], ("",))


@dataclass(frozen=True)
class Selection:
    """The backends, dtypes and requirements of a run, which decide what its trials are."""

    backends: tuple[Backend, ...]
    dtypes: tuple[str, ...]  # as --dtype gives them; empty means all that a backend has
    precision: str | None
    required: tuple[str, ...]

    def trials(self, invariant: Invariant, names: Collection[str] | None = None) -> list[Trial]:
        """Return the trials of an invariant at the current effort. Of a general one, only those on these operations, if given."""
        return self.collect(invariant, names) if is_selected(invariant) else []

    def collect(self, invariant: Invariant, names: Collection[str] | None = None) -> list[Trial]:
        """Return the trials of an invariant, also where another effort tries it: pytest collects it, then deselects it."""
        trials = [
            trial
            for backend in self.backends
            for name in operation_names(invariant)
            if (names is None or not name or name in names) and not self._is_absent(backend, name, invariant)
            for trial in self._trials(backend, name, invariant)
        ]
        if not trials and names is None:  # pytest needs an item that it can deselect
            trials = [self._redundant(self.backends[0], invariant)]
        return trials

    def _redundant(self, backend: Backend, invariant: Invariant, operation_name: str = "", dtype: str = "") -> Trial:
        """Return a trial of the invariant that is deselected."""
        name = operation_name or operation_names(invariant)[0]
        return Trial(backend, dtype or backend.dtypes[0], self.precision, name, redundant=True)

    def _is_absent(self, backend: Backend, operation_name: str, invariant: Invariant) -> bool:
        """Whether a general invariant has nothing to say of an operation, because the backend lacks it."""
        says_so = invariant.id in REPORT_ABSENCE or operation_name in self.required
        return bool(operation_name) and not says_so and not backend.has(operation_name)

    def _trials(self, backend: Backend, operation_name: str, invariant: Invariant) -> list[Trial]:
        dtypes = tuple(d for d in backend.dtypes if not self.dtypes or d in self.dtypes)
        if operation_name and not backend.has(operation_name) and operation_name not in self.required:
            return [Trial(backend, dtypes[0], self.precision, operation_name)]  # which says that it is absent
        if operation_name and not invariant.applies_to(operation_name):
            return []
        if fixed := specification(invariant.drawn_operation(operation_name)).dtype:
            dtypes = (fixed,)
        trials = [Trial(backend, dtype, self.precision, operation_name) for dtype in dtypes if invariant.covers_dtype(dtype)]
        cost = cost_of(invariant, operation_name)
        lacks = "states" in invariant.needs and not backend.framework.has_states
        lacks |= "transforms" in invariant.needs and not backend.framework.has_transforms
        lacks |= "ranks" in invariant.needs and backend.framework.world_size == 1
        if not trials or lacks or cost > effort.current_effort().max_cost:  # pytest needs an item that it can deselect
            return [self._redundant(backend, invariant, operation_name, dtypes[0])]
        present = [trial for trial in trials if not trial.missing(invariant.operations)]
        if not present:  # one line says that the operation is absent, instead of one for each dtype and invariant
            reports_absence = invariant.id in REPORT_ABSENCE or find_missing_requirement(trials[0], invariant, self.required)
            trials[0].redundant = not reports_absence
            return trials[:1]
        if not invariant.each_dtype:
            present = _choose_dtypes(present, effort.current_effort().dtypes(cost), invariant.id_for(operation_name))
        for place, trial in enumerate(present):
            trial.part = (place, len(present)) if invariant.compares_with_oracle else (0, 1)
            trial.unmet_need, trial.max_examples = _unmet_need(trial, invariant), count_examples(invariant, cost, len(present))
            trial.most_examples = effort.current_effort().examples(cost, len(present))
        return present


def count_examples(invariant: Invariant, cost: float, dtypes: int) -> int:
    """Return how many examples of an invariant the current effort tries in each of so many dtypes."""
    current, whole = effort.current_effort(), invariant.compares_with_oracle
    count = current.examples(cost, dtypes) if whole else current.planned_examples(cost, dtypes, invariant.planned_examples)
    return min(count, invariant.max_examples or count)


def find_missing_requirement(trial: Trial, invariant: Invariant, required: tuple[str, ...]) -> str:
    """Return why an operation of the invariant that --require names cannot be tried, "" if all of them can."""
    names = (trial.operation_name if name in GENERAL else name for name in invariant.operations)
    return next((missing for name in names if name in required and (missing := trial.operation(name).missing)), "")


def _unmet_need(trial: Trial, invariant: Invariant) -> str:
    """Return why the backend cannot be tried on this invariant: for lack of a keyword, or of memory to look at. "" if it can."""
    for need in invariant.needs:
        kind, _, what = need.partition(":")
        if need == "own memory" and trial.backend.framework.passes_copies:
            return f"{trial.backend.name} is a process, which gets copies of the arrays: nothing tells how it uses memory"
        if kind == "keyword":
            name = invariant.drawn_operation(trial.operation_name)
            operation = trial.operation(name)
            if not operation.missing and not operation.accepts(what):
                return f"{trial.backend.name}'s {name} has no argument {what}, which the law varies"
            if what in operation.domain:
                return f"{trial.backend.domain_label} fixes {what} of {name}, which the law varies"
    return ""


def cost_of(invariant: Invariant, operation_name: str) -> float:
    """Return the cost of one example. A plain invariant of a plain operation costs 1."""
    specs = [specification(operation_name if name in GENERAL else name) for name in invariant.operations]
    composed = effort.current_effort().composed if specs[0].composed else 1.0
    passes = 2 if specs[0].is_gradient else 1  # forward and backward
    return invariant.cost * max(spec.cost for spec in specs) * composed**passes


def _choose_dtypes(trials: list[Trial], count: int, invariant_id: str) -> list[Trial]:
    """Keep `count` of the trials. Other invariants keep other dtypes, so that together they cover all."""
    if count >= len(trials):
        return trials
    start, step = zlib.crc32(invariant_id.encode()) % len(trials), len(trials) // count
    return sorted((trials[(start + i * step) % len(trials)] for i in range(count)), key=trials.index)
