"""What one pytest run tries: its backends, dtypes and requirements, all checked before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ..calls.violation import Violation
from ..implementation import environment, guard
from ..implementation.backend import Backend, load
from ..implementation.domain import describe_domain
from ..implementation.lookup import BackendError
from ..inputs import effort
from ..inputs.choices import format_choices
from ..isolation.tampering import PatchDetector
from ..specification.formats import DTYPES, PRECISIONS
from ..specification.registry import gradients, operations
from ..trials.invariant import Invariant
from ..trials.trial import GENERAL, Trial
from .arguments import LEVELS, parse_example, parse_limits, parse_memory_budget, parse_shapes, read_known_files, validate_choices
from .known_failures import Entry, KnownFile, update_lines
from .selection import Selection, operation_names

DEFAULT = "numpy-cpu"


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
    known_files: tuple[KnownFile, ...] = ()
    update: bool = False
    backends_recorded: bool = False  # the report has heard of the backends

    @staticmethod
    def of(config: pytest.Config) -> Session:
        option = config.getoption
        precision = option("precision")
        effort.set_effort(
            validate_choices("effort", [option("effort")], effort.EFFORTS)[0],
            parse_memory_budget(option),
            parse_shapes(option("shapes")),
        )
        guard.set_limits(parse_limits(option))
        return Session(
            tuple(dict.fromkeys(option("backend"))),
            config.invocation_params.dir,
            validate_choices("dtype", option("dtype"), DTYPES),
            validate_choices("precision", [precision], PRECISIONS)[0] if precision else None,
            validate_choices("require", option("require"), (*operations(), *gradients())),
            frozenset(validate_choices("require-level", option("require_level"), LEVELS)),
            option("isolate"),
            parse_example(option),
            read_known_files(option, config.invocation_params.dir),
            option("update_known"),
        )

    @staticmethod
    def on(
        backend: Backend, dtypes: tuple[str, ...] = (), precision: str | None = None, levels: frozenset[str] = frozenset()
    ) -> Session:
        """On one backend, without a command line."""
        session = Session((backend.name,), Path(), dtypes, precision, (), levels)
        session.backends = session.check_dtypes([backend])
        return session

    @cached_property
    def backends(self) -> tuple[Backend, ...]:
        try:
            found = [self._load(text) for text in self.requested or (DEFAULT,)]
        except BackendError as error:
            raise pytest.UsageError(str(error)) from None
        return self.check_dtypes(found)

    def _load(self, text: str) -> Backend:
        if not self.isolate:
            return self._load_in_process(text, PatchDetector())
        from ..isolation.remote import load_isolated

        return load_isolated(text, self.folder, operations(), gradients())

    def _load_in_process(self, text: str, integrity: PatchDetector) -> Backend:
        """Loaded into this process, in which it may replace nothing."""
        environment.set_variables(text, self.folder)
        backend = load(text, self.folder, operations())
        done = [f"replaced {name}" for name in integrity.restore()] + [f"loaded {name}" for name in integrity.imported_tests()]
        if done:
            said = f"importing it {done[0]}, on which its verdicts depend"
            raise BackendError(f"--backend={text}: {said}; --isolate keeps the two apart")
        return backend

    def restore_watched(self) -> None:
        """What another plugin's fixture has replaced for a test is no backend's doing."""
        if not self.isolate:
            self.patch_detector.others_code.restore()

    def restore(self) -> list[str]:
        """What a backend has replaced, if it could, is as it was."""
        return [] if self.isolate else self.patch_detector.restore()

    @cached_property
    def patch_detector(self) -> PatchDetector:
        """Of the suite, once its tests are loaded."""
        return PatchDetector()

    def check_dtypes(self, found: list[Backend]) -> tuple[Backend, ...]:
        """They have one of the dtypes asked for."""
        for backend in found:
            if self.dtypes and not set(self.dtypes) & set(backend.dtypes):
                raise pytest.UsageError(
                    f"--dtype={','.join(self.dtypes)}: {backend.name} offers {', '.join(backend.dtypes)}; nothing would run."
                )
        return tuple(found)

    @property
    def selection(self) -> Selection:
        return Selection(self.backends, self.dtypes, self.precision, self.required)

    def known_entry(self, invariant: Invariant, trial: Trial) -> tuple[str, str, Entry | None]:
        """Whether it is known to be failing or flaky, which line says so, and what that says."""
        facts = self.identity(invariant, trial)
        for file in self.known_files:
            if found := file.of(facts):
                return file.kind, f"{file.path.name}, line {found[0]}", found[1]
        return "", "", None

    def check_known_ids(self, collected: set[str]) -> None:
        """What the files name exists."""
        if any(file.unmatched(collected) for file in self.known_files):
            from ..trials.collection import invariants

            every = {t.invariant.of(subject) for t in invariants() for subject in operation_names(t.invariant)}
            for complaint in filter(None, (file.unmatched(every) for file in self.known_files)):
                raise pytest.UsageError(complaint)

    def update_known_files(self, verdicts: list[dict[str, Any]]) -> None:
        for file in self.known_files if self.update else ():
            file.path.write_text(update_lines(file, verdicts), encoding="utf-8")

    def require_one_item(self, items: list[pytest.Item]) -> None:
        if len(items) > 1:
            raise pytest.UsageError(
                f"--example is of one invariant in one dtype, and {len(items)} are selected: add the -k, --dtype and --backend "
                "of the line that printed it"
            )

    def identity(self, invariant: Invariant, trial: Trial) -> dict[str, str]:
        framework = trial.backend.framework
        return {
            "id": invariant.of(trial.operation_name),
            "backend": trial.backend.name,
            "dtype": trial.dtype,
            "device": framework.device or framework.place,
        }

    def skip_absent(self, invariant: Invariant, trial: Trial, reason: str) -> None:
        names = {trial.operation_name if name in GENERAL else name for name in invariant.operations}
        if names & set(self.required):
            raise Violation(f"required, but {reason}")
        pytest.skip(reason)

    def verdict_record(self, invariant: Invariant, trial: Trial, status: str, reason: str, seconds: float) -> dict[str, Any]:
        """The verdict, as plain data."""
        progress = trial.tally
        return {
            **self.identity(invariant, trial),
            "operation": trial.operation_name or invariant.module,
            "version": trial.backend.version,
            "domain": describe_domain(trial.operation(trial.operation_name or invariant.module).domain),
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
            "example": format_choices(progress.choices) if status == "failed" else None,
            "known": progress.known,
            "repeats": progress.repeats,
            "oracle": trial.backend.imports_oracle,
        }
