"""Find and undo what a backend has replaced in the suite's own process: whatever verdicts depend on.

The detector is made once, before any backend is imported. What every run needs of ours is imported before. What only some runs
need is imported after a look, and watched from then on: laws of operations that a backend has, and the search for a cause.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ..specification.first_use import set_importer
from ..specification.registry import gradients, operations, specification, specification_modules
from .reachable import OwnContainers, library_containers, library_modules, own_modules
from .snapshot import Container, Snapshot, make_container

SUITE = Path(__file__).parents[1]
ON_DEMAND = (  # folders whose modules are imported only when needed
    "backends", "campaign", "commands", "deviations", "diagnosis", "helpers", "operations", "processes", "publishing", "servers",
    "sharding", "vectors",
)  # fmt: skip
AFTER_A_FAILURE = (  # modules that only a run with a failure imports
    "report.failure", "report.reproduction", "report.script", "running.joints",
    "trials.asker", "trials.cause", "trials.cause_search", "trials.causes", "trials.failure", "trials.forward_result",
    "trials.new_cause", "trials.raising_region",
    "trials.circumstances", "trials.free_memory", "trials.repeated_call", "trials.settling", "trials.wrong_parts",
)  # fmt: skip
WITH_A_REPORT = (  # modules that only a run with --report imports
    "report.backend_results", "report.badge", "report.github_step", "report.page", "report.schema", "report.score",
    "report.template", "running.imported_files", "running.recorded_details", "running.recording", "running.report_folder",
    "running.resuming", "running.suite_commit",
)  # fmt: skip
FOR_ONE_COMMAND = (
    "report.__main__",
    "running.check",
    "running.composition",
    "running.fresh_run",
    "running.listing",
)  # or for the functions of a test
LEFT_OUT = frozenset((*AFTER_A_FAILURE, *WITH_A_REPORT, *FOR_ONE_COMMAND))
EQUATIONS = "reference_numpy"
SPECIFICATIONS = (f"{EQUATIONS}.", "spec_tests.operations.")
LOADED_ANEW = (  # how the names of modules begin that a backend may have loaded, and of which the suite imports its own
    *SPECIFICATIONS, "spec_tests.diagnosis", "spec_tests.helpers", "spec_tests.report", "spec_tests.test_", "spec_tests.trials",
)  # fmt: skip


def preloaded() -> Iterator[str]:
    """Yield the modules that are imported before any backend is, so that no backend can patch them first.

    Packages and modules whose names begin with an underscore are not named. Importing the others imports them.
    """
    for folder, subfolders, files in os.walk(SUITE):
        packages = Path(folder).relative_to(SUITE).parts
        subfolders[:] = sorted(name for name in subfolders if name not in ON_DEMAND and not name.startswith("_"))
        names = sorted(file.removesuffix(".py") for file in files if file.endswith(".py") and file[0] != "_")
        for name in names if packages else ("plugin",):  # the other files there are of laws
            if (dotted := ".".join([*packages, name])) not in LEFT_OUT:
                yield f"{SUITE.name}.{dotted}"


class PatchDetector:
    """Records what verdicts depend on when it is made, and finds what was replaced since.

    With `guards_imports`, what this process uses for the first time is imported by `import_modules`, until `release`.
    """

    def __init__(self, *, guards_imports: bool = False) -> None:
        self.loaded, self.replaced_before = set[str](), list[str]()
        self.of_backends = set[
            str
        ]()  # modules that a backend has loaded itself, and that are loaded anew when the suite uses them
        if guards_imports:
            set_importer(self.import_modules)  # which is watched, too
        self.is_importing = True
        _import_all(preloaded())
        self.is_importing = False
        self.finders = list(sys.meta_path), list(sys.path_hooks)
        self.libraries = Snapshot(library_containers())
        self.own, self.ours = OwnContainers(), Snapshot(())
        self._watch_loaded_modules()
        self.hooks = Snapshot(())

    def _watch_loaded_modules(self) -> None:
        """Watch the modules of ours that were loaded since, and record what is watched as it is now."""
        new = {
            name: module
            for name, module in own_modules().items()
            if name not in self.loaded and name not in self.of_backends and not _is_initializing(module)
        }
        self.loaded |= {*new}
        self.own.visit_modules(new)
        for name in (*operations(), *gradients()):
            if self.loaded.issuperset(specification_modules(name)):
                self.own.visit(f"specification({name!r})", specification(name))
        containers, arrays = self.own.take_new()
        names = (*library_modules(), *new)
        self.ours.extend([*containers, *filter(None, [make_container("sys.modules", sys.modules, names)])], arrays)

    def import_modules(self, names: Sequence[str]) -> None:
        """Import modules of ours on their first use, after a look, and watch them from then on.

        What the look finds is told by the next one. What a backend has loaded itself of the laws, and of the search for a cause,
        is loaded anew: it may have patched its own.
        """
        if self.loaded.issuperset(names):
            return
        if self.is_importing:  # a module that is imported asks for another one
            _import_all(names)
            return
        self.replaced_before += self._restore()
        anew = SPECIFICATIONS if all(name.startswith(SPECIFICATIONS) for name in names) else LOADED_ANEW
        for name, module in own_modules().items():
            if name not in self.loaded and name.startswith(anew) and not _is_initializing(module):
                del sys.modules[name]
        self.of_backends = {name for name in own_modules() if name.startswith(LOADED_ANEW)} - self.loaded
        finders = list(sys.meta_path), list(sys.path_hooks)
        self.is_importing = True
        try:
            sys.meta_path[:], sys.path_hooks[:] = self.finders
            sys.path_importer_cache.clear()  # it may hold what other hooks have made
            _import_all(names)
        finally:
            sys.meta_path[:], sys.path_hooks[:] = finders
            self.is_importing = False
        self._watch_loaded_modules()

    def release(self) -> None:
        """Let modules be imported plainly again."""
        set_importer()

    def restore(self) -> list[str]:
        """Put back what was replaced since, and return the names."""
        found, self.replaced_before = [*self.replaced_before, *self._restore()], []
        return list(dict.fromkeys(found))

    def _restore(self) -> list[str]:
        return [*self.libraries.restore(), *self.ours.restore(), *self.hooks.restore()]

    def watch_hooks(self, manager: Any) -> None:
        """Record the plugins of a manager of pluggy, and what each of its hooks calls, as they are now. None watches none."""
        self.hooks = Snapshot(_hook_containers(manager) if manager is not None else ())

    def find_imports(self) -> list[str]:
        """Return the modules of ours that were imported since, without equations and the backends that come with the suite."""
        allowed = ("spec_tests.backends", EQUATIONS)
        return sorted(name for name in set(own_modules()) - self.loaded if not name.startswith(allowed))


def _import_all(names: Iterable[str]) -> None:
    for name in names:
        importlib.import_module(name)


def _is_initializing(module: ModuleType) -> bool:
    """Whether the module is being imported now: what it imports in turn may have called the suite."""
    return bool(getattr(module.__spec__, "_initializing", False))


def count_hooks(manager: Any) -> list[tuple[str, int]]:
    """Return the number of functions that each hook calls, by which a plugin that was added shows at once."""
    hooks = vars(manager.hook).items()
    return [(name, len(implementations)) for name, hook in hooks if (implementations := getattr(hook, "_hookimpls", None))]


def _hook_containers(manager: Any) -> Iterator[Container]:
    plugins = manager._name2plugin
    yield from filter(None, [make_container("the plugins of pytest", plugins, plugins, is_closed=True)])
    for name, hook in vars(manager.hook).items():
        if isinstance(implementations := getattr(hook, "_hookimpls", None), list):
            yield from filter(None, [make_container(f"pytest's hook {name}", implementations)])
            for implementation in implementations:
                yield from filter(None, [make_container(f"pytest's hook {name}", implementation, ("function", "wrapper"))])
