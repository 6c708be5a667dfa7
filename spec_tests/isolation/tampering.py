"""Find and undo what a backend has replaced in the suite's own process: whatever verdicts depend on.

The detector is made once, before any backend is imported. Every module of ours is imported before: what is imported later may
have been patched already.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..specification.registry import gradients, operations, specification
from .reachable import OUR_PACKAGES, OwnContainers, library_containers, library_modules, own_modules
from .snapshot import Container, Snapshot, make_container

SUITE = Path(__file__).parents[1]
ON_DEMAND = ("backends", "campaign", "deviations", "isolation")  # folders whose modules are imported only when needed
WITH_A_REPORT = (  # modules that only a run with --report imports
    "report.backend_results", "report.badge", "report.github_step", "report.page", "report.record_check",
    "running.imported_files", "running.recorded_details", "running.recording", "running.report_folder", "running.resuming",
)  # fmt: skip


def preloaded() -> Iterator[str]:
    """Yield the modules that are imported before any backend is, so that no backend can patch them first.

    Packages and modules whose names begin with an underscore are not named. Importing the others imports them.
    """
    for package in OUR_PACKAGES:
        for path in sorted((SUITE.parent / package).rglob("[a-z]*.py")):
            *folders, name = path.relative_to(SUITE.parent / package).with_suffix("").parts
            if not ({*folders} & {*ON_DEMAND} or ".".join([*folders, name]) in WITH_A_REPORT):
                yield ".".join([package, *folders, name])


class PatchDetector:
    """Records what verdicts depend on when it is made, and finds what was replaced since."""

    def __init__(self) -> None:
        for name in preloaded():
            importlib.import_module(name)
        self.libraries = Snapshot(library_containers())
        own = OwnContainers()
        for name in (*operations(), *gradients()):
            own.visit(f"specification({name!r})", specification(name))
        registry = make_container("sys.modules", sys.modules, (*library_modules(), *own_modules()))
        self.ours = Snapshot([*own.containers, *filter(None, [registry])], own.arrays)
        self.loaded = set(own_modules())
        self.hooks = Snapshot(())

    def restore(self) -> list[str]:
        """Put back what was replaced since, and return the names."""
        return [*self.libraries.restore(), *self.ours.restore(), *self.hooks.restore()]

    def watch_hooks(self, manager: Any) -> None:
        """Record the plugins of a manager of pluggy, and what each of its hooks calls, as they are now. None watches none."""
        self.hooks = Snapshot(_hook_containers(manager) if manager is not None else ())

    def find_imports(self) -> list[str]:
        """Return the modules of ours that were imported since, without the backends that come with the suite."""
        return sorted(name for name in set(own_modules()) - self.loaded if not name.startswith("spec_tests.backends"))


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
