"""What one pytest run tries: its backends, dtypes and requirements, all checked before anything runs."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import effort, environment, guard
from .asked import LEVELS, budget, files, how_many_shapes, known, limits, row
from .domain import described
from .finding import BackendError
from .formats import DTYPES, PRECISIONS
from .integrity import Integrity
from .invariant import Invariant
from .known import Entry, Known, updated
from .loading import CONVENTIONS, Backend, load
from .row import spelt
from .specification import gradients, operations, specification
from .trial import GENERAL, Trial
from .violation import Violation

DEFAULT = "numpy-cpu"
# they say for all invariants that an operation is absent
SPOKESMEN = ("operation.reference", "gradient.reference")


@dataclass
class Session:
    requested: tuple[str, ...]
    folder: Path
    dtypes: tuple[str, ...]
    precision: str | None
    required: tuple[str, ...]
    levels: frozenset[str]
    isolate: bool = False
    example: tuple[int, ...] = ()  # this one alone
    known: tuple[Known, ...] = ()
    update: bool = False
    told: bool = False  # the report has heard of the backends

    @staticmethod
    def of(config: pytest.Config) -> Session:
        option = config.getoption
        precision = option("precision")
        effort.choose(known("effort", [option("effort")], effort.EFFORTS)[0], budget(option), how_many_shapes(option("shapes")))
        guard.choose(limits(option))
        return Session(
            tuple(dict.fromkeys(option("backend"))),
            config.invocation_params.dir,
            known("dtype", option("dtype"), DTYPES),
            known("precision", [precision], PRECISIONS)[0] if precision else None,
            known("require", option("require"), (*operations(), *gradients())),
            frozenset(known("require-level", option("require_level"), LEVELS)),
            option("isolate"),
            row(option),
            files(option, config.invocation_params.dir),
            option("update_known"),
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
            found = [self._loaded(text) for text in self.requested or (DEFAULT,)]
        except BackendError as error:
            raise pytest.UsageError(str(error)) from None
        return self.checked(found)

    def _loaded(self, text: str) -> Backend:
        if not self.isolate:
            return self._apart(text, Integrity())
        from .isolation.remote import isolated

        return isolated(text, self.folder, operations(), gradients())

    def _apart(self, text: str, integrity: Integrity) -> Backend:
        """Loaded into this process, in which it may replace nothing."""
        environment.put(text, self.folder)
        backend = load(text, self.folder, operations())
        done = [f"replaced {name}" for name in integrity.restored()] + [f"loaded {name}" for name in integrity.imported()]
        if done:
            said = f"importing it {done[0]}, on which its verdicts depend"
            raise BackendError(f"--backend={text}: {said}; --isolate keeps the two apart")
        return backend

    def settle(self) -> None:
        """What another plugin's fixture has replaced for a test is no backend's doing."""
        if not self.isolate:
            self.integrity.strangers.restored()

    def restore(self) -> list[str]:
        """What a backend has replaced, if it could, is as it was."""
        return [] if self.isolate else self.integrity.restored()

    @cached_property
    def integrity(self) -> Integrity:
        """Of the suite, once its tests are loaded."""
        return Integrity()

    def checked(self, found: list[Backend]) -> tuple[Backend, ...]:
        """They have one of the dtypes asked for."""
        for backend in found:
            if self.dtypes and not set(self.dtypes) & set(backend.dtypes):
                raise pytest.UsageError(
                    f"--dtype={','.join(self.dtypes)}: {backend.name} offers {', '.join(backend.dtypes)}; nothing would run."
                )
        return tuple(found)

    def trials(self, invariant: Invariant) -> list[Trial]:
        return [] if self.unasked(invariant) else self.collected(invariant)

    def collected(self, invariant: Invariant) -> list[Trial]:
        """Those of another effort too: pytest must have something to leave out."""
        return [
            t for backend in self.backends for subject in _subjects(invariant) for t in self._trials(backend, subject, invariant)
        ]

    def _trials(self, backend: Backend, subject: str, invariant: Invariant) -> list[Trial]:
        leading = invariant.leading(subject)
        fixed = specification(leading).dtype
        if subject and not invariant.concerns(subject):
            return []
        dtypes = (fixed,) if fixed else tuple(d for d in backend.dtypes if not self.dtypes or d in self.dtypes)
        trials = [Trial(backend, dtype, self.precision, subject) for dtype in dtypes if invariant.speaks_of(dtype)]
        cost = _cost(invariant, subject)
        if not trials or cost > effort.current().dearest:  # pytest must have something to leave out
            return [Trial(backend, dtypes[0], self.precision, subject, redundant=True)]
        present = [trial for trial in trials if not trial.missing(invariant.operations)]
        if not present:  # one line says so, not one for each dtype and invariant
            trials[0].redundant = invariant.id not in SPOKESMEN and not set(invariant.operations) & set(self.required)
            return trials[:1]
        if not invariant.each_dtype:
            present = _spread(present, effort.current().dtypes(cost), invariant.of(subject))
        for trial in present:
            share = effort.current().examples(cost, len(present))
            trial.needs, trial.share = self._unmet(trial, invariant), min(share, invariant.most or share)
        return present

    def unasked(self, invariant: Invariant) -> bool:
        """Some laws are tried at one effort alone."""
        return invariant.effort not in (None, effort.current().name)

    def _unmet(self, trial: Trial, invariant: Invariant) -> str:
        for need in invariant.needs:
            kind, _, what = need.partition(":")
            if kind == "convention" and what not in trial.backend.conventions:
                choice = " or ".join(repr(v) for v in CONVENTIONS[what])
                return f"{trial.backend.name} states no convention {what} ({choice})"
            if kind == "keyword":
                name = invariant.leading(trial.subject)
                operation = trial.operation(name)
                if not operation.missing and not operation.accepts(what):
                    return f"{trial.backend.name}'s {name} takes no {what}"
                if what in operation.domain:
                    return f"{trial.backend.name} restricts the {what} of {name}"
        return ""

    def known_of(self, invariant: Invariant, trial: Trial) -> tuple[str, str, Entry | None]:
        """Whether it is known to be failing or flaky, which line says so, and what that says."""
        facts = self.identity(invariant, trial)
        for file in self.known:
            if found := file.of(facts):
                return file.kind, f"{file.path.name}, line {found[0]}", found[1]
        return "", "", None

    def named_in_files(self, collected: set[str]) -> None:
        """What the files name exists."""
        if any(file.unmatched(collected) for file in self.known):
            from .checking import invariants

            every = {t.invariant.of(subject) for t in invariants() for subject in _subjects(t.invariant)}
            for complaint in filter(None, (file.unmatched(every) for file in self.known)):
                raise pytest.UsageError(complaint)

    def update_files(self, verdicts: list[dict[str, Any]]) -> None:
        for file in self.known if self.update else ():
            file.path.write_text(updated(file, verdicts), encoding="utf-8")

    def one_alone(self, items: list[pytest.Item]) -> None:
        if len(items) > 1:
            raise pytest.UsageError(
                f"--example is of one invariant in one dtype, and {len(items)} are selected: add the -k, --dtype and --backend "
                "of the line that printed it"
            )

    def identity(self, invariant: Invariant, trial: Trial) -> dict[str, str]:
        framework = trial.backend.framework
        return {
            "id": invariant.of(trial.subject),
            "backend": trial.backend.name,
            "dtype": trial.dtype,
            "device": framework.device or framework.place,
        }

    def absent(self, invariant: Invariant, trial: Trial, reason: str) -> None:
        names = {trial.subject if name in GENERAL else name for name in invariant.operations}
        if names & set(self.required):
            raise Violation(f"required, but {reason}")
        pytest.skip(reason)

    def facts(self, invariant: Invariant, trial: Trial, status: str, reason: str, seconds: float) -> dict[str, Any]:
        """The verdict, as plain data."""
        progress = trial.progress
        return {
            **self.identity(invariant, trial),
            "operation": trial.subject or invariant.module,
            "version": trial.backend.version,
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
            "example": spelt(progress.row) if status == "failed" else None,
            "known": progress.known,
            "repeats": progress.repeats,
            "oracle": trial.backend.oracle,
        }


def _subjects(invariant: Invariant) -> tuple[str, ...]:
    return {"operation": operations(), "gradient": gradients()}.get(invariant.operations[0], ("",))


def _cost(invariant: Invariant, subject: str) -> float:
    """Of one example, where that of a plain law of a plain operation is 1."""
    specs = [specification(subject if name in GENERAL else name) for name in invariant.operations]
    again = effort.current().composed if specs[0].composed else 1.0
    return invariant.cost * max(spec.cost for spec in specs) * again ** (2 if specs[0].is_gradient else 1)  # forward and back


def _spread(trials: list[Trial], many: int, law: str) -> list[Trial]:
    """So many of them; another law's are others."""
    if many >= len(trials):
        return trials
    start, step = zlib.crc32(law.encode()) % len(trials), len(trials) // many
    return sorted((trials[(start + i * step) % len(trials)] for i in range(many)), key=trials.index)
