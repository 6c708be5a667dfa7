"""What one run is made of: its backends, dtypes, requirements and known failures, all checked before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pytest

from ..implementation import environment
from ..implementation.backend import Backend, load
from ..implementation.lookup import DEVIATION_PREFIX, BackendError
from ..implementation.printable import printable
from ..implementation.search_path import fix_judge_finders
from ..processes.command import names_process
from ..sharding.statements import choose_world_size
from ..specification.first_use import import_modules
from ..specification.registry import gradients, import_specifications, operations
from ..specification.run_settings import RunSettings, current_settings, set_settings
from ..tampering.detector import PatchDetector, count_hooks
from ..trials.invariant import Invariant
from ..trials.trial import Trial
from .arguments import (
    parse_device,
    parse_domain,
    parse_example,
    parse_limits,
    parse_max_calls,
    parse_memory_budget,
    parse_python,
    parse_seeds,
    parse_shapes,
    parse_world_size,
    read_known_failures,
)
from .known_failures import KnownFailures
from .law_files import LawFiles
from .ledger import Ledger
from .lookout import Lookout
from .names import read_names
from .options import read_option
from .safety_net import SafetyNet
from .selection import Selection

DEFAULT_BACKEND = "numpy-cpu"


@dataclass
class Session:
    """One run: what its command line or its caller asks for, and the backends under test."""

    backend_texts: tuple[str, ...]  # the values of --backend
    folder: Path  # the folder in which the run was started
    dtypes: tuple[str, ...]  # empty means all that a backend has
    precision: str | None
    required: tuple[str, ...]  # operations that a backend must implement
    levels: frozenset[str]  # levels that a backend must hold
    isolate: bool = False
    world_size: int | None = None  # on how many ranks sharded backends run; None: as each says
    domain: dict[str, dict[str, Any]] | None = None  # to test in place of what the backends state
    example: tuple[int, ...] = ()  # the choices of the only example to try; empty means that examples are drawn
    known_failures: KnownFailures = field(default_factory=KnownFailures)
    plugin_manager: pytest.PytestPluginManager | None = None  # of the run, if a command line has started it
    operations: tuple[str, ...] = ()  # whose laws alone are tried; empty means those of all
    tiers: tuple[str, ...] = ()  # of a contract, that this run asks for besides those that an author promises
    ledger: Any = None  # a Ledger, if a command line has started the run
    lookout: Lookout = field(default_factory=Lookout)  # when to look for replacements
    backends_recorded: bool = False  # whether this process has handed the records of the backends to the report

    @staticmethod
    def from_config(config: pytest.Config) -> Session:
        """Build the session of a pytest run. Set the settings of this process. Raise UsageError for a bad option."""
        option, names = partial(read_option, config), read_names(config)
        report = config.invocation_params.dir / option("report") if option("report") else None
        requests, failures = (report and report / name for name in ("requests", "failures"))
        shapes, limits = parse_shapes(option("shapes")), parse_limits(option)
        set_settings(
            RunSettings(
                names.effort,
                parse_memory_budget(option),
                shapes,
                parse_seeds(option),
                limits,
                requests,
                failures_folder=failures,
                device=parse_device(option),
                python=parse_python(option, config.invocation_params.dir),
                measures_skill=option("skill"),
                seeks_causes=not option("no_causes"),
                max_calls=parse_max_calls(option, getattr(config, "workerinput", {}).get("workercount", 1)),
            )
        )
        return Session(
            tuple(dict.fromkeys(option("backend"))),
            config.invocation_params.dir,
            names.dtypes,
            names.precision,
            names.required,
            names.levels,
            bool(option("isolate")),
            parse_world_size(option),
            parse_domain(option, config.invocation_params.dir),
            parse_example(option),
            read_known_failures(option, config.invocation_params.dir),
            plugin_manager=config.pluginmanager,
            operations=names.operations,
            ledger=Ledger(config),
            tiers=names.tiers,
        )

    @staticmethod
    def for_backend(
        backend: Backend, dtypes: tuple[str, ...] = (), precision: str | None = None, levels: frozenset[str] = frozenset()
    ) -> Session:
        """Build the session of one backend, without a command line."""
        session = Session((backend.name,), Path(), dtypes, precision, (), levels)
        session.backends = session.check_dtypes([backend])
        return session

    @cached_property
    def backends(self) -> tuple[Backend, ...]:
        """The backends under test, loaded when they are first used."""
        try:
            loaded = [self._load(text) for text in self.backend_texts or (DEFAULT_BACKEND,)]
            for backend in loaded:
                backend.__dict__["safety_net"] = SafetyNet()
            if self.domain is not None:
                for backend in loaded:
                    backend.replace_domain(self.domain)
        except BackendError as error:
            raise pytest.UsageError(printable(str(error))) from None
        return self.check_dtypes(loaded)

    def _load(self, text: str) -> Backend:
        if python := current_settings().python:
            from ..processes.isolated_backend import load_in_python
            from ..tampering.settled_imports import settle_imports

            settle_imports(self.folders_of_backends)
            return load_in_python(text, self.folder, operations(), python)
        if names_process(text):
            from ..processes.server_backend import load_process

            return load_process(text, self.folder, operations(), gradients())
        world_size = choose_world_size(text, self.folder, self.world_size)
        if world_size is not None and not environment.has_devices(environment.backend_file(text, self.folder)):
            from ..sharding.sharded_backend import load_sharded

            return load_sharded(text, self.folder, operations(), gradients(), world_size)
        if world_size is None and not self.isolate:
            return self._load_in_process(text, self.patch_detector)
        from ..processes.isolated_backend import load_isolated
        from ..tampering.settled_imports import settle_imports

        settle_imports(self.folders_of_backends)
        return load_isolated(text, self.folder, operations(), gradients(), world_size)

    def _load_in_process(self, text: str, patch_detector: PatchDetector) -> Backend:
        """Load a backend into this process. Raise BackendError if that replaces or loads what the verdicts depend on."""
        environment.set_variables(text, self.folder)
        loaded_before = set(patch_detector.find_imports())
        patch_detector.watch_hooks(self.plugin_manager)
        if text.startswith(DEVIATION_PREFIX):  # which needs equations, and what the catalogue is made with
            import_specifications((*operations(), *gradients()))
            import_modules("spec_tests.deviations")
        backend = load(text, self.folder, operations())
        intrusions = [f"replaced {name}" for name in patch_detector.restore()]
        patch_detector.watch_hooks(None)  # plugins may come until all tests are collected
        if not text.startswith(DEVIATION_PREFIX):
            intrusions += [f"loaded {name}" for name in patch_detector.find_imports() if name not in loaded_before]
        if intrusions:
            complaint = f"importing it {intrusions[0]}, on which its verdicts depend"
            raise BackendError(f"--backend={text}: {complaint}; --isolate keeps the two apart")
        return backend

    def close(self) -> None:
        """End the processes of isolated backends, with all that they have started, and let modules be imported plainly again."""
        if self.watches_this_process:
            self.patch_detector.release()
        for backend in self.__dict__.get("backends", ()):
            if connection := getattr(backend.framework, "connection", None):
                connection.close()

    @property
    def folders_of_backends(self) -> list[Path]:
        """The folder of the run, and those of the backends' files: none of what lies there is the judge's."""
        files = [environment.backend_file(text, self.folder) for text in self.backend_texts]
        return [self.folder, *(file.parent for file in files if file)]

    @property
    def confinement(self) -> str:
        """What keeps the processes of isolated backends from others, "" if the run does not ask for that."""
        connections = (getattr(backend.framework, "connection", None) for backend in self.__dict__.get("backends", ()))
        return next(filter(None, (connection.confinement for connection in connections if connection is not None)), "")

    def list_loaded_files(self) -> set[Path]:
        """Return the files of the backends that are loaded in this process."""
        loaded = self.__dict__.get("backends", ()) if self.watches_this_process else ()
        return {Path(file) for backend in loaded if isinstance(file := getattr(backend.source, "__file__", None), str)}

    def undo_replacements(self) -> list[str]:
        """Undo what was replaced in this process, and return the names. An isolated backend can replace nothing here."""
        return self.patch_detector.restore() if self.watches_this_process else []

    def find_replacements(self, trial: Trial, operation: str, *, failed: bool) -> str:
        """Return what was replaced and which verdicts depend on it, after a law about an operation, and undo it.

        Return "" if nothing was replaced, or if the next look is not due yet.
        """
        if not self.watches_this_process:
            return ""
        if not self.lookout.note(trial.backend.name, operation, trial.tally.coverage.drawn, failed=failed):
            return ""
        replaced, suspects = self.undo_replacements(), self.lookout.suspects
        unseen = self.lookout.finish_look(replaced)
        if not replaced:
            return ""
        others = f", as do those on the {unseen} laws before it, since the last look" if unseen else ""
        return f"{suspects} replaced {', '.join(replaced[:3])}, on which the verdict depends{others}"

    def undo_fixtures(self) -> list[str]:
        """Undo what fixtures and plugins replaced before a law, if a look is due. Return the names of what is the suite's own.

        What they replace in libraries is their right. It is put back silently, so that the backend is not blamed for it.
        """
        if not self.watches_this_process or not self.lookout.begin_law():
            return []
        libraries, ours = self.patch_detector.libraries.restore(), self.patch_detector.ours.restore()
        self.lookout.others_replace |= bool(libraries or ours)
        return ours

    def watch_hooks(self) -> None:
        """Record the plugins and the hooks of pytest as they are when all tests are collected."""
        if self.watches_this_process:
            self.patch_detector.watch_hooks(self.plugin_manager)

    @property
    def watches_this_process(self) -> bool:
        """Whether a backend was loaded into this process, which could replace something here."""
        return "patch_detector" in self.__dict__

    def collect(self, invariant: Invariant) -> list[Trial]:
        """Return the trials of an invariant. Raise UsageError if a backend registers a plugin of pytest meanwhile."""
        manager = self.plugin_manager
        before = count_hooks(manager) if manager is not None else []
        trials = self.selection.collect(invariant)
        if manager is not None and count_hooks(manager) != before:
            names = ", ".join(backend.name for backend in self.backends)
            raise pytest.UsageError(f"while its functions were looked up, {names} registered a plugin with pytest")
        return trials

    @cached_property
    def patch_detector(self) -> PatchDetector:
        """Detects replacements in the suite and its libraries. It is built before any backend is loaded."""
        fix_judge_finders(self.folders_of_backends)
        return PatchDetector(guards_imports=self.plugin_manager is not None)

    def check_dtypes(self, backends: list[Backend]) -> tuple[Backend, ...]:
        """Return the backends. Raise UsageError if one has none of the requested dtypes."""
        for backend in backends:
            if self.dtypes and not set(self.dtypes) & set(backend.dtypes):
                raise pytest.UsageError(
                    f"--dtype={','.join(self.dtypes)}: {backend.name} offers {', '.join(backend.dtypes)}; nothing would run."
                )
        return tuple(backends)

    @cached_property
    def law_files(self) -> LawFiles:
        """The files of laws that the run needs."""
        return LawFiles(lambda: self.backends, self.required, self.operations)

    @property
    def selection(self) -> Selection:
        """Which trials the run makes."""
        return Selection(self.backends, self.dtypes, self.precision, self.required)
