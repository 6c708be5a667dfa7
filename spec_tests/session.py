"""What one pytest run tries: its backends, dtypes and requirements, all checked before anything runs."""

from __future__ import annotations

import difflib
import math
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import effort
from .deviation import catalogue
from .domain import described
from .formats import DTYPES, PRECISIONS
from .invariant import Invariant
from .loading import CONVENTIONS, Backend, BackendError, built_in, load, registered
from .specification import gradients, operations, specification
from .trial import GENERAL, Trial
from .violation import Violation

LEVELS = (
    "bitwise-repeatable", "batch-invariant", "quarantine", "nan-propagation",
    "limits", "mixed-dtypes", "relative-tails", "unbiased",
)  # fmt: skip
DEFAULT = "numpy-cpu"
# tried in every dtype; and they say for all invariants that an operation is absent
SPOKESMEN = ("operation.reference", "gradient.reference")


def _backends() -> str:
    lines = [f"{name:<20} {path}" for name, path in built_in().items()]
    lines += [f"{name:<20} {entry.value} (registered by {entry.dist.name})" for name, entry in registered().items()]
    return "\n".join([*lines, "Or a path to a .py file, a dotted module name, or module:attribute."])


def _deviations() -> str:
    return "\n".join(f"deviation:{one.id:<55} {one.kind:<10} {one.what}" for one in catalogue().values())


LISTED = {"--list-backends": _backends, "--list-deviations": _deviations}


def known(option: str, given: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    names = tuple(name for value in given for name in value.split(",") if name)
    for name in names:
        if name not in (known := tuple(known)):
            near = difflib.get_close_matches(name, known, n=2)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise pytest.UsageError(f"--{option}={name}: there is no such {option}.{hint} There are {', '.join(known)}.")
    return names


def _gigabytes(given: str) -> float:
    with suppress(ValueError):
        if 0 < float(given) < math.inf:
            return float(given)
    raise pytest.UsageError(f"--memory-budget={given}: give a number of gigabytes greater than 0, as in --memory-budget=16.")


@dataclass
class Session:
    requested: tuple[str, ...]
    folder: Path
    dtypes: tuple[str, ...]
    precision: str | None
    required: tuple[str, ...]
    levels: frozenset[str]
    told: bool = False  # the report has heard of the backends

    @staticmethod
    def of(config: pytest.Config) -> Session:
        option = config.getoption
        precision = option("precision")
        effort.choose(known("effort", [option("effort")], effort.EFFORTS)[0], _gigabytes(option("memory_budget")))
        return Session(
            tuple(dict.fromkeys(option("backend"))),
            config.invocation_params.dir,
            known("dtype", option("dtype"), DTYPES),
            known("precision", [precision], PRECISIONS)[0] if precision else None,
            known("require", option("require"), (*operations(), *gradients())),
            frozenset(known("require-level", option("require_level"), LEVELS)),
        )

    @staticmethod
    def on(
        backend: Backend, dtypes: tuple[str, ...] = (), precision: str | None = None, levels: frozenset[str] = frozenset()
    ) -> Session:
        """On one backend, without a command line."""
        session = Session((backend.name,), Path(), dtypes, precision, (), levels)
        session.backends = session.checked([backend])
        return session

    @cached_property
    def backends(self) -> tuple[Backend, ...]:
        try:
            found = [load(text, self.folder, set(operations())) for text in self.requested or (DEFAULT,)]
        except BackendError as error:
            raise pytest.UsageError(str(error)) from None
        return self.checked(found)

    def checked(self, found: list[Backend]) -> tuple[Backend, ...]:
        """They have one of the dtypes asked for."""
        for backend in found:
            if self.dtypes and not set(self.dtypes) & set(backend.dtypes):
                raise pytest.UsageError(
                    f"--dtype={','.join(self.dtypes)}: {backend.name} offers {', '.join(backend.dtypes)}; nothing would run."
                )
        return tuple(found)

    def trials(self, invariant: Invariant) -> list[Trial]:
        return [] if invariant.effort not in (None, effort.current().name) else self.collected(invariant)

    def collected(self, invariant: Invariant) -> list[Trial]:
        """Those of another effort too: pytest must have something to leave out."""
        subjects = {"operation": operations(), "gradient": gradients()}.get(invariant.operations[0], ("",))
        return [t for backend in self.backends for subject in subjects for t in self._trials(backend, subject, invariant)]

    def _trials(self, backend: Backend, subject: str, invariant: Invariant) -> list[Trial]:
        leading = subject or invariant.operations[0]
        fixed = specification(leading).dtype
        if subject and not invariant.concerns(subject):
            return []
        dtypes = (fixed,) if fixed else tuple(d for d in backend.dtypes if not self.dtypes or d in self.dtypes)
        trials = [Trial(backend, dtype, self.precision, subject) for dtype in dtypes]
        present = [trial for trial in trials if not trial.missing(invariant.operations)]
        if not present:  # one line says so, not one for each dtype and invariant
            absent = Trial(backend, dtypes[0], self.precision, subject)
            absent.redundant = invariant.id not in SPOKESMEN and not set(invariant.operations) & set(self.required)
            return [absent]
        cost = invariant.cost * present[0].cost(invariant.operations)
        if invariant.id not in SPOKESMEN:
            present = _spread(present, effort.current().dtypes(cost), invariant.of(subject))
        for trial in present:
            share = effort.current().examples(cost, len(present))
            trial.needs, trial.share = self._unmet(trial, invariant), min(share, invariant.most or share)
        return present

    def unasked(self, invariant: Invariant) -> bool:
        """A level that nobody requires is not tried at smoke effort, and some laws at one effort alone."""
        if invariant.effort not in (None, effort.current().name):
            return True
        return effort.current().name == "smoke" and invariant.level is not None and invariant.level not in self.levels

    def _unmet(self, trial: Trial, invariant: Invariant) -> str:
        for need in invariant.needs:
            kind, _, what = need.partition(":")
            if kind == "convention" and what not in trial.backend.conventions:
                choice = " or ".join(repr(v) for v in CONVENTIONS[what])
                return f"{trial.backend.name} states no convention {what} ({choice})"
            if kind == "keyword":
                name = invariant.operations[0] if invariant.operations[0] not in GENERAL else trial.subject
                operation = trial.operation(name)
                if not operation.missing and not operation.accepts(what):
                    return f"{trial.backend.name}'s {name} takes no {what}"
                if what in operation.domain:
                    return f"{trial.backend.name} restricts the {what} of {name}"
        return ""

    def absent(self, invariant: Invariant, trial: Trial, reason: str) -> None:
        names = {trial.subject if name in GENERAL else name for name in invariant.operations}
        if names & set(self.required):
            raise Violation(f"required, but {reason}")
        pytest.skip(reason)

    def facts(self, invariant: Invariant, trial: Trial, status: str, reason: str, seconds: float) -> dict[str, Any]:
        """The verdict, as plain data."""
        progress = trial.progress
        return {
            "id": invariant.of(trial.subject),
            "operation": trial.subject or invariant.module,
            "backend": trial.backend.name,
            "version": trial.backend.version,
            "dtype": trial.dtype,
            "domain": described(trial.operation(trial.subject or invariant.module).domain),
            "kind": invariant.kind,
            "level": invariant.level,
            "status": status,
            "reason": reason,
            "class": progress.reached,
            "examples": progress.examples,
            "refused": len(progress.refusals),
            "worst": max(progress.shares, default=None),
            "median": float(np.median(progress.shares)) if progress.shares else None,
            "unclaimed": progress.unclaimed / progress.elements if progress.elements else 0.0,
            "seconds": round(seconds, 4),
        }


def _spread(trials: list[Trial], many: int, law: str) -> list[Trial]:
    """So many of them; another law's are others."""
    if many >= len(trials):
        return trials
    start, step = zlib.crc32(law.encode()) % len(trials), len(trials) // many
    return sorted((trials[(start + i * step) % len(trials)] for i in range(many)), key=trials.index)
