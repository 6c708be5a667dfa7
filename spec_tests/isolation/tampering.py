"""Find and undo what a backend has replaced in the suite's own process: functions, classes and methods on which verdicts depend.

Every module of ours must be imported before any backend is: what is imported later may have been patched already.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from operator import attrgetter, call, is_, itemgetter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

WATCHED_MODULES = ("builtins", "hypothesis", "hypothesis.core", "math", "numpy", "numpy.linalg", "pytest", "time")
OUR_PACKAGES = ("reference_numpy", "spec_tests")
SUITE = Path(__file__).parents[1]
ON_DEMAND = ("backends", "deviations", "isolation", "operations")  # folders whose modules are imported only when needed
WITH_A_REPORT = (  # modules that only a run with --report imports
    "report.backend_results", "report.badge", "report.github_step", "report.page", "report.record_check",
    "running.imported_files", "running.recorded_details", "running.recording", "running.report_folder", "running.resuming",
)  # fmt: skip
CODE, DEFAULTS = attrgetter("__code__"), attrgetter("__defaults__")


def _find_modules() -> Iterator[ModuleType]:
    """Yield the modules to watch that are loaded: the libraries' and ours."""
    for name, module in sorted(sys.modules.items()):
        if isinstance(module, ModuleType) and (name in WATCHED_MODULES or name.partition(".")[0] in OUR_PACKAGES):
            yield module


class Namespace:
    """A module, or one of our own classes, with the callables that it has when this is made."""

    def __init__(self, owner: Any, name: str):
        self.owner, self.name = owner, name
        self.callables = {key: value for key, value in list(vars(owner).items()) if callable(value)}
        self.get_callables = itemgetter("__doc__", *self.callables)  # "__doc__", because for one key it would return no tuple

    def restore(self) -> Iterator[str]:
        """Put back each callable that was replaced, and yield its name."""
        for key, value in self.callables.items():
            if vars(self.owner).get(key) is not value:
                setattr(self.owner, key, value)
                yield f"{self.name}.{key}"


def _find_namespaces() -> Iterator[Namespace]:
    """Yield every loaded module to watch, and every class that is defined in one of ours."""
    for module in _find_modules():
        yield Namespace(module, module.__name__)
        if module.__name__.partition(".")[0] in OUR_PACKAGES:
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and value.__module__ == module.__name__:
                    yield Namespace(value, f"{module.__name__}.{name}")


def _all_identical(current: Iterable[Any], recorded: Iterable[Any]) -> bool:
    return all(map(is_, current, recorded))  # without a loop in Python: there are thousands, for every test


class Snapshot:
    """The callables of many namespaces, which are compared all at once."""

    def __init__(self, namespaces: list[Namespace]):
        self.namespaces = namespaces
        self.getters = [namespace.get_callables for namespace in namespaces]
        self.dicts = [vars(namespace.owner) for namespace in namespaces]
        self.recorded = list(self._current())

    def _current(self) -> Iterable[Any]:
        """Return what every namespace has now under the recorded names."""
        return chain.from_iterable(map(call, self.getters, self.dicts))

    def restore(self) -> list[str]:
        """Put back each callable that was replaced, and return their names."""
        with suppress(KeyError):  # a name was deleted
            if _all_identical(self._current(), self.recorded):
                return []
        return [name for namespace in self.namespaces for name in namespace.restore()]


def preloaded() -> Iterator[str]:
    """Yield the modules that are imported before any backend is, so that no backend can patch them first.

    Packages and modules whose names begin with an underscore are not named. Importing the others imports them.
    """
    for package in OUR_PACKAGES:
        for path in sorted((SUITE.parent / package).rglob("[a-z]*.py")):
            *folders, name = path.relative_to(SUITE.parent / package).with_suffix("").parts
            if not (name.startswith("test_") or {*folders} & {*ON_DEMAND} or ".".join([*folders, name]) in WITH_A_REPORT):
                yield ".".join([package, *folders, name])


class PatchDetector:
    """Records the callables of all modules to watch that are loaded when it is made, and finds what was replaced since.

    Of functions it also records the code and the defaults, which can be replaced in place.
    """

    def __init__(self) -> None:
        for name in preloaded():
            importlib.import_module(name)
        namespaces = [namespace for namespace in _find_namespaces() if namespace.callables]
        self.libraries = Snapshot([namespace for namespace in namespaces if namespace.name in WATCHED_MODULES])
        self.ours = Snapshot([namespace for namespace in namespaces if namespace.name not in WATCHED_MODULES])
        self.loaded_tests = {name for name in sys.modules if name.startswith("spec_tests.test_")}
        every = ((value, f"{namespace.name}.{key}") for namespace in namespaces for key, value in namespace.callables.items())
        functions = {value: name for value, name in every if isinstance(value, FunctionType)}
        self.functions, self.function_names = list(functions), list(functions.values())
        self.codes, self.defaults = list(map(CODE, functions)), list(map(DEFAULTS, functions))

    def restore(self) -> list[str]:
        """Put back what was replaced since, and return the names."""
        return [*self.libraries.restore(), *self.ours.restore(), *self._restore_bodies()]

    def _restore_bodies(self) -> Iterator[str]:
        """Put back the code and the defaults of functions, and yield the names of those that had others."""
        if not (
            _all_identical(map(CODE, self.functions), self.codes) and _all_identical(map(DEFAULTS, self.functions), self.defaults)
        ):
            for function, code, defaults, name in zip(
                self.functions, self.codes, self.defaults, self.function_names, strict=True
            ):
                if function.__code__ is not code or function.__defaults__ is not defaults:
                    function.__code__, function.__defaults__ = code, defaults
                    yield name

    def imported_tests(self) -> list[str]:
        """Return the modules of laws that were imported since: a backend must not import those."""
        return sorted(name for name in sys.modules if name.startswith("spec_tests.test_") and name not in self.loaded_tests)
